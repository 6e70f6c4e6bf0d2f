'use strict';
(() => {
  const { el, count, number } = fillrate;

  /** All columns of all attempts; NaN where there is no value. @type {Record<string, Float64Array|Uint32Array>} */
  let columns = {};
  /** Attempts whose columns are here. */
  let loaded = 0;
  let total = 0;
  /** Completion and reason of each attempt, in small letters. @type {string[]} */
  let texts = [];
  let textsLoaded = 0;
  /** @type {any} */
  let summary = null;
  /** @type {any} */
  let holes = null;
  /** Each hole's text that the search goes through, in small letters. @type {string[]} */
  let names = [];
  /** @type {LongTable|null} */
  let table = null;
  /** The names of the columns that are left out. @type {Set<string>} */
  const hidden = new Set();
  /** Grows with each drawing of the page, so that an older one stops. */
  let turn = 0;

  /** Numbers that the search compares, as in `ms>300`. @type {Record<string, string>} */
  const compared = { ms: 'latency', chars: 'characters', p: 'probability', es: 'similarity', seconds: 'seconds' };
  const whole = ['run', 'hole', 'sample', 'round', 'outcome', 'offered', 'characters'];
  const real = ['proof', 'latency', 'accepted', 'exact', 'similarity', 'probability', 'seconds'];

  /** Names of the filters. The address has their values after `#`, so it can be a bookmark. */
  const filters = ['run', 'language', 'kind', 'project', 'category', 'outcome', 'proof'];
  /** @type {Map<string, HTMLSelectElement>} */
  const selects = new Map();
  const search = /** @type {HTMLInputElement} */ (el('input', { type: 'search', id: 'search', placeholder: 'words, ms>300, chars<20', autocomplete: 'off', spellcheck: 'false' }));
  const inTexts = /** @type {HTMLInputElement} */ (el('input', { type: 'checkbox', id: 'in-texts' }));
  const found = el('output', { for: 'search', id: 'found' });

  /** @param {number} shard @param {any} data */
  function take(shard, data) {
    const from = shard * summary.shard;
    for (const name of whole) {
      columns[name].set(data[name], from);
    }
    for (const name of real) {
      const column = columns[name];
      data[name].forEach((/** @type {number|null} */ value, /** @type {number} */ index) => {
        column[from + index] = value === null ? NaN : value;
      });
    }
    loaded = Math.max(loaded, from + data.run.length);
  }

  /** The attempts that are asked for. @returns {Uint32Array} */
  function matching() {
    const chosen = (/** @type {string} */ name) => selects.get(name)?.value ?? '';
    /** @type {string[]} */
    const words = [];
    /** @type {((at: number) => boolean)[]} */
    const ranges = [];
    for (const word of fillrate.words(search)) {
      const range = /^(ms|chars|p|es|seconds)([<>])(=?)(-?[0-9.]+)$/.exec(word);
      if (range) {
        const [column, sign, bound] = [columns[compared[range[1]]], range[2] === '>' ? 1 : -1, Number(range[4])];
        ranges.push((at) => sign * (column[at] - bound) > 0 || (range[3] === '=' && column[at] === bound));
      } else {
        words.push(word);
      }
    }
    const proof = chosen('proof') === '' ? -1 : summary.proofs.indexOf(chosen('proof'));
    const run = chosen('run') === '' ? -1 : Number(chosen('run'));
    const outcome = chosen('outcome') === '' ? -1 : summary.outcomes.indexOf(chosen('outcome'));
    const isEmpty = chosen('outcome') === 'empty';
    const ofHole = ['language', 'kind', 'project', 'category'].filter((name) => chosen(name) !== '');
    // Most of the question is about holes, of which there are fewer.
    const wanted = holes.id.map((/** @type {string} */ _, /** @type {number} */ hole) =>
      ofHole.every((name) => (holes[name][hole] ?? '') === chosen(name)));
    const named = names.map((name) => words.every((word) => name.includes(word)));
    const deep = inTexts.checked;
    const matches = new Uint32Array(loaded);
    let length = 0;
    for (let at = 0; at < loaded; at += 1) {
      const hole = columns.hole[at];
      if (!wanted[hole] || (run >= 0 && columns.run[at] !== run) || (outcome >= 0 && columns.outcome[at] !== outcome)
        || (isEmpty && shownOutcome(at).text !== 'empty')
        || (proof >= 0 && columns.proof[at] !== proof) || !ranges.every((holds) => holds(at))) {
        continue;
      }
      if (!named[hole]) {
        if (!deep || at >= textsLoaded || !words.every((word) => names[hole].includes(word) || texts[at].includes(word))) {
          continue;
        }
      }
      matches[length] = at;
      length += 1;
    }
    return matches.slice(0, length);
  }

  function update() {
    const matches = matching();
    table?.show(matches);
    const of = loaded < total ? `${count(loaded)} read so far of ${count(total)}` : count(total);
    const texts = inTexts.checked && textsLoaded < total ? ', texts are being read' : '';
    found.textContent = `${count(matches.length)} of ${of}${texts}`;
  }

  /** Keeps what is asked for in the address. */
  function remember() {
    const state = fillrate.filterState(selects, search);
    if (inTexts.checked) {
      state.set('texts', 'yes');
    }
    if (hidden.size > 0) {
      state.set('without', [...hidden].join(','));
    }
    history.replaceState(null, '', `#${state}`);
  }

  async function readTexts() {
    const now = turn;
    while (inTexts.checked && textsLoaded < total && now === turn) {
      const shard = Math.floor(textsLoaded / summary.shard);
      const data = await fillrate.load(`texts-${shard}`);
      const from = shard * summary.shard;
      data.completion.forEach((/** @type {string} */ text, /** @type {number} */ index) => {
        texts[from + index] = `${text}\n${data.reason[index]}`.toLowerCase();
      });
      textsLoaded = from + data.completion.length;
      update();
    }
  }

  /** @param {string} name @param {[string, string][]} options value and text */
  function select(name, options) {
    const element = selects.get(name) ?? /** @type {HTMLSelectElement} */ (el('select', { id: `filter-${name}` }));
    const before = selects.has(name) ? element.value : fillrate.state().get(name) ?? '';
    element.replaceChildren(el('option', { value: '' }, 'all'), ...options.map(([value, text]) => el('option', { value }, text)));
    element.value = before;
    if (element.value !== before) {
      element.value = '';
    }
    selects.set(name, element);
  }

  /** The distinct values of a column of holes. @param {string} name @returns {[string, string][]} */
  function distinct(name) {
    const values = [...new Set(holes[name])].filter((value) => value !== null).sort();
    return values.map((value) => [value, value]);
  }

  /** @param {string} name */
  function byNumber(name) {
    return (/** @type {number} */ a, /** @type {number} */ b) => {
      const [x, y] = [columns[name][a], columns[name][b]];
      // What has no value counts as the least.
      return (Number.isNaN(x) ? -Infinity : x) - (Number.isNaN(y) ? -Infinity : y) || 0;
    };
  }

  /** @param {string} name */
  function byHole(name) {
    return (/** @type {number} */ a, /** @type {number} */ b) => {
      const [x, y] = [holes[name][columns.hole[a]] ?? '', holes[name][columns.hole[b]] ?? ''];
      return x < y ? -1 : x > y ? 1 : 0;
    };
  }

  /** @param {number} item */
  function address(item) {
    return fillrate.holeAddress(holes.id[columns.hole[item]], { run: columns.run[item], sample: columns.sample[item], round: columns.round[item] });
  }

  /** @param {number} item */
  function shownOutcome(item) {
    return fillrate.outcomeText(summary.outcomes[columns.outcome[item]], columns.characters[item] > 0);
  }

  /** @param {string} name @param {number} places @returns {(item: number) => string} */
  function value(name, places) {
    return (item) => Number.isNaN(columns[name][item]) ? '–' : number(columns[name][item], places);
  }

  /** @returns {Column[]} */
  function layout() {
    return [
      { name: 'hole', width: 200, cell: (item) => el('a', { href: address(item), tabindex: '-1', title: holes.id[columns.hole[item]] }, fillrate.cuttable(fillrate.shortName(holes.id[columns.hole[item]]))), compare: byHole('id') },
      { name: 'run', width: 170, cell: (item) => fillrate.cuttable(summary.runs[columns.run[item]].name), compare: byNumber('run') },
      { name: 'kind', width: 100, cell: (item) => holes.kind[columns.hole[item]], compare: byHole('kind') },
      { name: 'sample', width: 84, numeric: true, about: 'Sample, and after a point the repair round', cell: (item) => `${columns.sample[item]}${columns.round[item] ? `.${columns.round[item]}` : ''}`, compare: byNumber('sample') },
      { name: 'outcome', width: 124, early: true, cell: (item) => {
        const { text, about } = shownOutcome(item);
        return el('span', { class: `outcome ${summary.outcomes[columns.outcome[item]]}`, title: about }, text);
      }, compare: byNumber('outcome') },
      { name: 'proof', width: 96, about: 'Of a pass: how well the tests prove that the code computes its answers', cell: (item) => Number.isNaN(columns.proof[item]) ? '–' : summary.proofs[columns.proof[item]], compare: byNumber('proof') },
      { name: 'EM', width: 60, numeric: true, about: 'em/cceval: exact match', cell: value('exact', 0), compare: byNumber('exact') },
      { name: 'ES', width: 72, numeric: true, about: 'es/cceval-levenshtein: edit similarity, from 0 to 100', cell: value('similarity', 0), compare: byNumber('similarity') },
      { name: 'accepted', width: 116, about: 'By a simulated developer: acceptance/oracle-prefix', cell: (item) => Number.isNaN(columns.accepted[item]) ? '–' : columns.accepted[item] ? 'yes' : 'no', compare: byNumber('accepted') },
      { name: 'ms', width: 84, numeric: true, about: 'Milliseconds from request to answer', cell: value('latency', 1), compare: byNumber('latency') },
      { name: 'p', width: 72, numeric: true, about: "Geometric mean of the model's probabilities of the tokens", cell: value('probability', 3), compare: byNumber('probability') },
      { name: 'chars', width: 72, numeric: true, about: 'Characters of the completion', cell: (item) => String(columns.characters[item]), compare: byNumber('characters') },
      { name: 'tests s', width: 92, numeric: true, about: 'Seconds that the verdict took', cell: value('seconds', 2), compare: byNumber('seconds') },
    ];
  }

  /** The choice of columns: all but the first, which leads to the hole. */
  function columnChoice() {
    const boxes = layout().slice(1).map(({ name }) => {
      const box = /** @type {HTMLInputElement} */ (el('input', { type: 'checkbox', checked: !hidden.has(name) }));
      box.addEventListener('change', () => {
        if (box.checked) {
          hidden.delete(name);
        } else {
          hidden.add(name);
        }
        remember();
        table?.choose(layout().filter((column) => !hidden.has(column.name)));
      });
      return el('label', {}, box, ` ${name}`);
    });
    return el('details', { id: 'columns' }, el('summary', {}, 'Columns'), el('div', { class: 'controls' }, ...boxes));
  }

  function begin() {
    for (const name of (fillrate.state().get('without') ?? '').split(',').filter((name) => name !== '')) {
      hidden.add(name);
    }
    const main = /** @type {HTMLElement} */ (document.getElementById('main'));
    const chosen = layout().filter((column) => !hidden.has(column.name));
    table = new LongTable('Attempts', chosen, (item) => {
      location.href = address(item);
    }, 'No attempt matches. Use fewer words, or clear the choices above.');
    /** @type {number|undefined} */
    let soon;
    const changed = () => {
      remember();
      update();
      if (inTexts.checked) {
        void readTexts();
      }
    };
    search.addEventListener('input', () => {
      clearTimeout(soon);
      soon = setTimeout(changed, 120);
    });
    inTexts.addEventListener('change', changed);
    for (const element of selects.values()) {
      element.addEventListener('change', changed);
    }
    search.value = fillrate.state().get('search') ?? '';
    inTexts.checked = fillrate.state().has('texts');
    const clear = el('button', { type: 'button', onclick: () => {
      search.value = '';
      inTexts.checked = false;
      for (const element of selects.values()) {
        element.value = '';
      }
      changed();
    } }, 'Clear');
    main.append(
      el('form', { class: 'controls', role: 'search', onsubmit: (/** @type {Event} */ event) => event.preventDefault() },
        el('label', { for: 'search' }, 'Search ', search),
        el('label', {}, inTexts, ' also in completions and verdicts'),
        ...filters.map((name) => el('label', { for: `filter-${name}` }, `${name} `, selects.get(name) ?? '')),
        clear,
        fillrate.csvButton('attempts.csv', () => [
          ['hole', ...layout().slice(1).map(({ name }) => name)],
          ...[...(table?.items ?? [])].map((item) => [holes.id[columns.hole[item]], ...layout().slice(1).map(({ cell }) => {
            const shown = cell(item);
            return typeof shown === 'string' ? shown : shown.textContent ?? '';
          })]),
        ]),
        found),
      columnChoice(),
      table.element,
    );
    fillrate.searchBySlash(search);
  }

  fillrate.page(async (newSummary) => {
    turn += 1;
    const now = turn;
    const [newHoles, first] = await Promise.all([
      fillrate.load('holes'),
      newSummary.shards > 0 ? fillrate.load('attempts-0') : null,
    ]);
    summary = newSummary;
    holes = newHoles;
    names = holes.id.map((/** @type {string} */ id, /** @type {number} */ hole) => `${id} ${holes.category[hole] ?? ''}`.toLowerCase());
    total = summary.progress.done;
    columns = Object.fromEntries([...whole.map((name) => [name, new Uint32Array(total)]), ...real.map((name) => [name, new Float64Array(total)])]);
    loaded = 0;
    texts = [];
    textsLoaded = 0;
    select('run', summary.runs.map((/** @type {any} */ run, /** @type {number} */ index) => [String(index), run.name]));
    select('proof', summary.proofs.map((/** @type {string} */ name) => [name, name]));
    select('outcome', [...summary.outcomes, 'empty'].map((/** @type {string} */ name) => [name, name]));
    for (const name of ['language', 'kind', 'project', 'category']) {
      select(name, distinct(name));
    }
    if (!table) {
      begin();
    }
    if (first) {
      take(0, first);
    }
    update();
    performance.mark('first-view');
    void (async () => {
      for (let shard = 1; shard < summary.shards && now === turn; shard += 1) {
        const data = await fillrate.load(`attempts-${shard}`);
        if (now !== turn) {
          return;
        }
        take(shard, data);
        update();
      }
      if (inTexts.checked) {
        void readTexts();
      }
      performance.mark('all-read');
    })();
  });
})();
