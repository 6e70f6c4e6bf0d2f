'use strict';
(() => {
  const { el, count, figureCell } = fillrate;

  /** By what rows are split beside the run. @type {Map<string, boolean>} */
  const split = new Map([['language', false], ['kind', false], ['project', false]]);
  /** The column that rows are sorted by. @type {{key: string|null, descending: boolean}} */
  const sorting = { key: null, descending: true };
  let begun = false;

  /** Whether a row is in the table as it is split now. @param {any} row */
  function isShown(row) {
    const by = (/** @type {string} */ name) => split.get(name) === true;
    return (row.kind !== '*') === by('kind')
      && (row.project !== '*') === by('project')
      && (row.language !== '*') === (by('language') || by('project'));
  }

  /** @param {any} summary */
  function rowsOf(summary) {
    const rows = summary.rows.filter(isShown);
    const { key, descending } = sorting;
    if (key === null) {
      return rows;
    }
    const value = (/** @type {any} */ row) => {
      switch (key) {
        case 'run': return summary.runs[row.run].name;
        case 'project': case 'language': case 'kind': case 'holes': case 'completions': return row[key];
        default: return Object.hasOwn(row.metrics, key) ? row.metrics[key].value : null;
      }
    };
    return [...rows].sort((a, b) => {
      const [x, y] = [value(a), value(b)];
      // What has no value comes last, whichever way.
      if (x === null || y === null) {
        return Number(x === null) - Number(y === null);
      }
      const order = typeof x === 'string' ? x.localeCompare(y) : x - y;
      return descending ? -order : order;
    });
  }

  /** Which run is best, whether the next is worse, and the way to where they differ. @param {any} summary */
  function answer(summary) {
    const { best } = summary;
    if (!best) {
      return '';
    }
    const [first, second] = [best.first, best.second].map((number) => summary.runs[number].name);
    const all = summary.runs.length > 2 ? `, the two best of ${count(summary.runs.length)} runs` : '';
    return el('p', { class: 'answer' }, el('strong', {}, best.conclusion), ` (“${first}” and “${second}”${all}): ${best.grounds}. `,
      el('a', { href: `flips.html#first=${best.first}&second=${best.second}` }, 'Where they differ'));
  }

  /** @param {any} summary */
  function figures(summary) {
    const place = /** @type {HTMLElement} */ (document.getElementById('figures'));
    const again = () => figures(summary);
    const head = (/** @type {string} */ key, /** @type {string} */ name, /** @type {string} */ below, /** @type {boolean} */ numeric) => {
      const button = el('button', { type: 'button', onclick: () => {
        sorting.descending = sorting.key === key ? !sorting.descending : numeric;
        sorting.key = key;
        again();
        document.querySelector(`[data-sort="${CSS.escape(key)}"]`)?.querySelector('button')?.focus();
      } }, ...name.split(/(?<=\/)/).flatMap((part, index) => index > 0 ? [el('wbr'), part] : [part]));
      const direction = sorting.descending ? 'descending' : 'ascending';
      return el('th', { scope: 'col', 'data-sort': key, class: numeric ? 'numeric' : null, 'aria-sort': sorting.key === key ? direction : null }, button, below && el('small', {}, below));
    };
    const names = ['project', 'language', 'kind'].filter((name) => split.get(name) || (name === 'language' && split.get('project')));
    const heads = [
      head('run', 'run', '', false),
      ...names.map((name) => head(name, name, '', false)),
      head('holes', 'holes', '', true),
      head('completions', 'completions', '', true),
      ...summary.metrics.map((/** @type {any} */ metric) => head(metric.name, metric.name, metric.unit.symbol, true)),
    ];
    const rows = rowsOf(summary).map((/** @type {any} */ row) => fillrate.row(
      el('span', {}, summary.runs[row.run].name, names.length === 0 && summary.best?.best === row.run && el('small', { class: 'best' }, 'highest pass@1')),
      ...names.map((name) => row[name]),
      el('td', { class: 'numeric' }, count(row.holes)),
      el('td', { class: 'numeric' }, count(row.completions)),
      ...summary.metrics.map((/** @type {any} */ metric) =>
        figureCell(Object.hasOwn(row.metrics, metric.name) ? row.metrics[metric.name] : null, metric.unit)),
    ));
    const percent = Math.round(100 * summary.confidence);
    document.getElementById('policies')?.replaceChildren(...policies(summary));
    place.replaceChildren(
      fillrate.table(`Figures, each with its ${percent} % interval and its n in the given number of files, its clusters`, heads, rows),
    );
  }

  /** What simulated developers made of it, a row for each policy. @param {any} summary */
  function policies(summary) {
    const metrics = summary.policy_metrics;
    if (metrics.length === 0) {
      return [];
    }
    const names = ['project', 'language', 'kind'].filter((name) => split.get(name) || (name === 'language' && split.get('project')));
    const rows = summary.rows.filter(isShown).flatMap((/** @type {any} */ row) => (row.policies ?? []).map((/** @type {any} */ one) => fillrate.row(
      summary.runs[row.run].name,
      ...names.map((name) => row[name]),
      one.policy,
      el('td', { class: 'numeric' }, count(one.holes)),
      ...metrics.map((/** @type {any} */ metric) => {
        const name = `${metric.name}(${one.policy})`;
        return figureCell(Object.hasOwn(one.metrics, name) ? one.metrics[name] : null, metric.unit);
      }),
    )));
    const heads = metrics.map((/** @type {any} */ metric) => el('th', { scope: 'col', class: 'numeric' }, metric.name, el('small', {}, metric.unit.symbol)));
    return [
      el('h2', {}, 'Simulated developers'),
      el('p', {}, 'Each policy says what a simulated developer accepts. None of these figures is a person’s.'),
      fillrate.table('What simulated developers made of the completions, by policy', ['run', ...names, 'policy', el('th', { scope: 'col', class: 'numeric' }, 'holes'), ...heads], rows),
      ...summary.rankings.map((/** @type {string} */ text) => el('pre', { class: 'code', tabindex: '0', role: 'group', 'aria-label': 'Ranking under each policy' }, text)),
    ];
  }

  /** What a gate holds back, and what others would. @param {any} gate */
  function frontier(gate) {
    if (!gate) {
      return [];
    }
    const whose = gate.simulated ? 'simulated completions, no person’s,' : 'completions';
    const percent = (/** @type {number} */ share) => el('td', { class: 'numeric' }, fillrate.number(100 * share, 1));
    const row = (/** @type {any} */ point, /** @type {string} */ mark) => fillrate.row(
      el('span', {}, fillrate.number(point.threshold, 4), mark && el('small', {}, mark)),
      percent(point.held_back),
      percent(point.characters_lost),
    );
    const rows = gate.points.map((/** @type {any} */ point) => row(point, ''));
    const heads = ['shown less', 'accepted characters lost'].map((name) => el('th', { scope: 'col', class: 'numeric' }, name, el('small', {}, '%')));
    return [
      el('h2', {}, 'A gate'),
      el('p', {}, `Of ${count(gate.shown)} ${whose} that were shown, ${count(gate.accepted)} were accepted, in ${count(gate.sessions)} sessions. A gate holds back what is less likely to be accepted than its threshold; each session is judged by a fit to the others.`),
      gate.chosen ? '' : el('p', {}, 'No threshold loses as little as a gate may: it would hold nothing back.'),
      fillrate.table('What thresholds of a gate hold back and lose', ['threshold', ...heads], gate.chosen ? [...rows, row(gate.chosen, ' the gate’s')] : rows),
    ];
  }

  /** How many attempts ended how, each number a way to those attempts. @param {any} summary */
  function outcomes(summary) {
    const all = summary.rows.filter((/** @type {any} */ row) => row.kind === '*' && row.project === '*' && row.language === '*');
    const seen = summary.outcomes.filter((/** @type {string} */ name) => all.some((/** @type {any} */ row) => row.outcomes[name]));
    const rows = all.map((/** @type {any} */ row) => {
      const total = Object.values(row.outcomes).reduce((sum, number) => sum + number, 0);
      const cells = seen.map((/** @type {string} */ name) => {
        const number = row.outcomes[name] ?? 0;
        const share = total > 0 ? ` (${fillrate.number((100 * number) / total, 1)} %)` : '';
        const link = el('a', { href: `attempts.html#run=${row.run}&outcome=${encodeURIComponent(name)}` }, count(number));
        return el('td', { class: 'numeric' }, number > 0 ? link : '0', number > 0 && el('span', { class: 'n' }, share));
      });
      return fillrate.row(summary.runs[row.run].name, ...cells);
    });
    return fillrate.table('Outcomes of first answers', ['run', ...seen.map((/** @type {string} */ name) => el('th', { scope: 'col', class: 'numeric' }, el('span', { class: `outcome ${name}` }, name)))], rows);
  }

  fillrate.page((summary) => {
    const main = /** @type {HTMLElement} */ (document.getElementById('main'));
    if (!begun) {
      begun = true;
      const boxes = [...split.keys()].map((name) => {
        const box = el('input', { type: 'checkbox' });
        box.addEventListener('change', () => {
          split.set(name, box.checked);
          void fillrate.load('summary').then(figures);
        });
        return el('label', {}, box, ` by ${name}`);
      });
      main.append(
        el('div', { id: 'tasks' }),
        el('div', { id: 'answer' }),
        el('fieldset', { class: 'controls' }, el('legend', {}, 'Split rows'), ...boxes),
        el('div', { id: 'figures' }),
        el('div', { id: 'policies' }),
        el('div', { id: 'gate' }, ...frontier(summary.gate)),
        el('div', { id: 'notes' }),
        el('h2', {}, 'How attempts ended'),
        el('div', { id: 'outcomes' }),
      );
    }
    const runs = summary.runs;
    const same = runs.every((/** @type {any} */ run) => run.holes === summary.shared);
    const others = runs.filter((/** @type {any} */ run) => run.other_files > 0);
    document.getElementById('tasks')?.replaceChildren(
      same ? '' : el('p', { class: 'warning', role: 'note' }, `These runs are of different tasks: they share ${count(summary.shared)} of ${count(summary.holes)} holes, so their rows below are not of the same holes. The page “Flips” compares two runs on the holes that both have.`),
      ...others.map((/** @type {any} */ run) => el('p', { class: 'warning', role: 'note' }, `${run.name}: ${count(run.other_files)} holes are in files that differ from an earlier run's.`)),
    );
    document.getElementById('answer')?.replaceChildren(answer(summary));
    figures(summary);
    document.getElementById('notes')?.replaceChildren(el('details', {}, el('summary', {}, 'What the figures mean'), el('dl', {}, ...[...summary.metrics, ...summary.policy_metrics].flatMap((/** @type {any} */ metric) => [el('dt', {}, metric.name), el('dd', {}, metric.about)]))));
    document.getElementById('outcomes')?.replaceChildren(outcomes(summary));
    performance.mark('first-view');
  });
})();
