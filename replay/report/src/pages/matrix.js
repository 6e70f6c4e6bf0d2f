'use strict';
// Holes against runs: each cell is the outcome of a run at a hole. The address holds the filters.
(() => {
  const { el, count } = fillrate;
  /** @type {any} */
  let summary = null;
  /** @type {any} */
  let holes = null;
  /** Outcome of each hole and run, by run: -1 without an attempt. @type {Int8Array[]} */
  let outcomes = [];
  /** Passes and verdicts of each hole and run, for runs of several samples. @type {{passed: Uint16Array, judged: Uint16Array}[]} */
  let rates = [];
  /** 1 for each hole with a pass that no altered answer proves, by run. @type {Uint8Array[]} */
  let unproven = [];
  /** 1 for each hole at which the first attempt offered nothing, by run. @type {Uint8Array[]} */
  let empty = [];
  /** @type {LongTable|null} */
  let table = null;
  /** @type {Map<string, HTMLSelectElement>} */
  const selects = new Map();
  const search = /** @type {HTMLInputElement} */ (el('input', { type: 'search', id: 'search', placeholder: 'words of file or hole', autocomplete: 'off', spellcheck: 'false' }));
  const found = el('output', { for: 'search', id: 'found' });
  const ofHole = ['project', 'language', 'kind', 'category'];

  /** @param {number} run @param {number} hole */
  function passes(run, hole) {
    const { passed, judged } = rates[run];
    return judged[hole] > 0 && passed[hole] === judged[hole];
  }

  /** True if a hole's cells are as the filter of a run asks. @param {string} wanted @param {number} run @param {number} hole */
  function fits(wanted, run, hole) {
    const judged = rates[run].judged[hole] > 0;
    switch (wanted) {
      case '': return true;
      case 'passes': return passes(run, hole);
      case 'fails': return judged && !passes(run, hole);
      case 'some': return judged && !passes(run, hole) && rates[run].passed[hole] > 0;
      case 'none': return judged && rates[run].passed[hole] === 0;
      case 'unproven': return passes(run, hole) && unproven[run][hole] === 1;
      default: return outcomes[run][hole] === summary.outcomes.indexOf(wanted);
    }
  }

  /** The holes that the filters ask for. @returns {Uint32Array} */
  function matching() {
    const words = fillrate.words(search);
    const value = (/** @type {string} */ name) => selects.get(name)?.value ?? '';
    const pattern = value('pattern');
    const all = holes.id.map((/** @type {string} */ _, /** @type {number} */ hole) => hole);
    return Uint32Array.from(all.filter((/** @type {number} */ hole) => {
      const own = summary.runs.map((/** @type {any} */ _, /** @type {number} */ run) => run).filter((/** @type {number} */ run) => outcomes[run][hole] >= 0);
      const judged = own.filter((/** @type {number} */ run) => rates[run].judged[hole] > 0);
      const different = new Set(judged.map((/** @type {number} */ run) => passes(run, hole))).size > 1;
      return own.length > 0
        && words.every((word) => holes.id[hole].toLowerCase().includes(word))
        && ofHole.every((name) => value(name) === '' || (holes[name][hole] ?? '') === value(name))
        && (pattern === '' || (pattern === 'differ' ? different : judged.length > 1 && !different))
        && summary.runs.every((/** @type {any} */ _, /** @type {number} */ run) => fits(value(`run-${run}`), run, hole));
    }));
  }

  function update() {
    const items = matching();
    table?.show(items);
    found.textContent = `${count(items.length)} of ${count(holes.id.length)} holes`;
  }

  /** Sets the filters from the address. */
  function restore() {
    const state = fillrate.state();
    for (const [name, select] of selects) {
      select.value = state.get(name) ?? '';
      if (select.selectedIndex < 0) {
        select.value = '';
      }
    }
    search.value = state.get('search') ?? '';
  }

  /** @param {number} run @param {number} hole */
  function cell(run, hole) {
    const outcome = outcomes[run][hole];
    if (outcome < 0) {
      return '–';
    }
    const { passed, judged } = rates[run];
    const name = summary.outcomes[outcome];
    const { text, about } = judged[hole] > 1 ? { text: `${passed[hole]}/${judged[hole]} pass`, about: null } : fillrate.outcomeText(name, empty[run][hole] === 0);
    const kind = judged[hole] > 1 ? (passes(run, hole) ? 'passed' : passed[hole] === 0 ? 'failed' : 'mixed') : name;
    return el('a', { href: fillrate.holeAddress(holes.id[hole], { run, sample: 0, round: 0 }), tabindex: '-1', class: `outcome ${kind}`, title: about }, text);
  }

  /** @returns {Column[]} */
  function layout() {
    const value = (/** @type {number} */ run, /** @type {number} */ hole) => {
      const { passed, judged } = rates[run];
      return judged[hole] > 0 ? passed[hole] / judged[hole] : -1;
    };
    return [
      { name: 'hole', width: 320, cell: (hole) => el('a', { href: fillrate.holeAddress(holes.id[hole]), tabindex: '-1', title: holes.id[hole] }, fillrate.cuttable(fillrate.shortName(holes.id[hole]))), compare: (a, b) => a - b },
      { name: 'kind', width: 124, cell: (hole) => holes.kind[hole], compare: (a, b) => holes.kind[a] < holes.kind[b] ? -1 : Number(holes.kind[a] > holes.kind[b]) },
      ...summary.runs.map((/** @type {any} */ run, /** @type {number} */ index) => ({
        name: run.name,
        width: 190,
        early: true,
        about: `Sort by the outcomes of ${run.name}`,
        cell: (/** @type {number} */ hole) => cell(index, hole),
        compare: (/** @type {number} */ a, /** @type {number} */ b) => value(index, a) - value(index, b),
      })),
    ];
  }

  /** The shown rows as text. @returns {(string|number)[][]} */
  function rows() {
    const names = summary.runs.map((/** @type {any} */ run) => run.name);
    const items = [...(table?.items ?? [])];
    return [['hole', 'project', 'language', 'kind', ...names], ...items.map((hole) => [
      holes.id[hole], holes.project[hole], holes.language[hole], holes.kind[hole],
      ...summary.runs.map((/** @type {any} */ _, /** @type {number} */ run) => {
        const { passed, judged } = rates[run];
        return outcomes[run][hole] < 0 ? '' : judged[hole] > 1 ? passed[hole] / judged[hole] : summary.outcomes[outcomes[run][hole]];
      }),
    ])];
  }

  /** @param {string} name @param {[string, string][]} options value and text */
  function select(name, options) {
    const element = /** @type {HTMLSelectElement} */ (el('select', { id: `filter-${name}` }, el('option', { value: '' }, 'any'), ...options.map(([value, text]) => el('option', { value }, text))));
    selects.set(name, element);
  }

  function begin() {
    const seen = summary.outcomes.filter((/** @type {string} */ _, /** @type {number} */ index) => outcomes.some((of) => of.includes(index)));
    const isSampled = rates.some(({ judged }) => judged.some((number) => number > 1));
    const own = seen.filter((/** @type {string} */ name) => name !== 'passed').map((/** @type {string} */ name) => [name, isSampled ? `first sample: ${name}` : name]);
    const several = isSampled
      ? [['passes', 'all samples pass'], ['unproven', 'all pass, not proven by an altered answer'], ['fails', 'not all samples pass'], ['some', 'some samples pass'], ['none', 'no sample passes']]
      : [['passes', 'passes'], ['unproven', 'passes, not proven by an altered answer'], ['fails', 'fails']];
    if (summary.runs.length > 1) {
      select('pattern', [['differ', 'runs differ'], ['agree', 'runs agree']]);
    }
    summary.runs.forEach((/** @type {any} */ _, /** @type {number} */ run) =>
      select(`run-${run}`, [...several, ...own]));
    for (const name of ofHole) {
      const values = [...new Set(holes[name])].filter((value) => value !== null).sort();
      if (values.length > 1) {
        select(name, values.map((value) => [value, value]));
      }
    }
    restore();
    /** @type {number|undefined} */
    let soon;
    const changed = () => {
      const asked = `#${fillrate.filterState(selects, search)}`;
      if (location.hash !== asked) {
        history.pushState(null, '', asked);
      }
      update();
    };
    for (const element of selects.values()) {
      element.addEventListener('change', changed);
    }
    search.addEventListener('input', () => {
      clearTimeout(soon);
      soon = setTimeout(changed, 250);
    });
    addEventListener('popstate', () => {
      restore();
      table?.sortByAddress();
      update();
    });
    fillrate.searchBySlash(search);
    const clear = el('button', { type: 'button', onclick: () => {
      search.value = '';
      for (const element of selects.values()) {
        element.value = '';
      }
      changed();
    } }, 'Clear');
    const title = (/** @type {string} */ name) => name.startsWith('run-') ? summary.runs[Number(name.slice(4))].name : name === 'pattern' ? 'holes where' : name;
    table = new LongTable('Holes and runs', layout(), (hole) => {
      location.href = fillrate.holeAddress(holes.id[hole]);
    }, 'No hole matches. Use fewer words, or clear the choices above.');
    const main = /** @type {HTMLElement} */ (document.getElementById('main'));
    main.append(
      el('form', { class: 'controls', role: 'search', onsubmit: (/** @type {Event} */ event) => event.preventDefault() },
        el('label', { for: 'search' }, 'Search ', search),
        ...[...selects].map(([name, element]) => el('label', { for: `filter-${name}` }, `${title(name)} `, element)),
        clear,
        fillrate.csvButton('holes.csv', rows),
        found),
      table.element,
    );
  }

  fillrate.page(async (newSummary) => {
    const newHoles = await fillrate.load('holes');
    const shards = await Promise.all(Array.from({ length: newSummary.shards }, (_, shard) => fillrate.load(`attempts-${shard}`)));
    summary = newSummary;
    holes = newHoles;
    const size = holes.id.length;
    outcomes = summary.runs.map(() => new Int8Array(size).fill(-1));
    unproven = summary.runs.map(() => new Uint8Array(size));
    empty = summary.runs.map(() => new Uint8Array(size));
    rates = summary.runs.map(() => ({ passed: new Uint16Array(size), judged: new Uint16Array(size) }));
    const counted = summary.outcomes.map((/** @type {string} */ name) => !['infrastructure', 'flaky', 'unjudged'].includes(name));
    for (const data of shards) {
      data.run.forEach((/** @type {number} */ run, /** @type {number} */ at) => {
        if (data.round[at] > 0) {
          return;
        }
        const [hole, outcome] = [data.hole[at], data.outcome[at]];
        if (outcomes[run][hole] < 0 || data.sample[at] === 0) {
          outcomes[run][hole] = outcome;
          empty[run][hole] = Number(data.characters[at] === 0);
        }
        if (counted[outcome]) {
          rates[run].judged[hole] += 1;
          const passed = summary.outcomes[outcome] === 'passed';
          rates[run].passed[hole] += Number(passed);
          if (passed && summary.proofs[data.proof[at]] !== 'altered') {
            unproven[run][hole] = 1;
          }
        }
      });
    }
    if (!table) {
      begin();
    }
    update();
    performance.mark('first-view');
  });
})();
