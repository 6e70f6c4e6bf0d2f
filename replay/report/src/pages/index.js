'use strict';
(() => {
  const { el, count, figureCell, number, unbroken } = fillrate;

  /** By what rows are split in addition to the run. @type {Map<string, boolean>} */
  const split = new Map([['language', false], ['kind', false], ['project', false]]);
  /** The column that rows are sorted by. @type {{key: string|null, descending: boolean}} */
  const sorting = { key: null, descending: true };
  let begun = false;

  /** Returns true if the table has a row in its current split. @param {any} row */
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

  /** Compares the best run with the second, with a link to their differences. @param {any} summary */
  function answer(summary) {
    const { best } = summary;
    if (!best) {
      return '';
    }
    const [first, second] = [best.first, best.second].map((number) => summary.runs[number].name);
    const all = best.compared > 2 ? ` These are the two best of ${count(best.compared)} runs${best.compared < summary.runs.length ? '; the reference, which any model is measured by, is none of them' : ''}.` : '';
    return el('p', { class: 'answer' }, el('strong', {}, unbroken(best.conclusion)), unbroken(`: ${best.grounds}.${all} `),
      el('a', { href: `flips.html#first=${best.first}&second=${best.second}` }, 'Where they differ'));
  }

  /** Returns a table of runs with their projects, settings and machines. @param {any} summary */
  function ran(summary) {
    const rows = summary.runs.map((/** @type {any} */ run) => {
      const { identity, machines } = run;
      // A project that could not be prepared has no source.
      const sources = Object.entries(identity.projects ?? {}).map(([name, source]) => source ? `${name} ${String(source[0]).slice(0, 12)}` : `${name} (absent)`);
      const model = identity.configuration?.model ?? {};
      const settings = [model.protocol, model.url, run.context, run.view, model.temperature !== undefined && `temperature ${model.temperature}`, identity.samples && `${count(identity.samples)} sample${identity.samples === 1 ? '' : 's'}`];
      const machine = machines.map((/** @type {any} */ one) => `${one.processor ?? one.architecture}, ${count(one.processors)} processors${one.memory_bytes ? `, ${number(one.memory_bytes / 2 ** 30, 0)} GiB` : ''}`);
      const date = run.written_ms ? `${new Date(run.written_ms).toISOString().slice(0, 16).replace('T', ' ')} UTC` : '–';
      return fillrate.row(run.name, sources.length > 4 ? `${count(sources.length)} projects` : sources.join(', ') || '–', settings.filter(Boolean).join(', '), date, [...new Set(machine)].join('; ') || '–', unbroken(run.time_spent ?? '–'));
    });
    return fillrate.table('What was run', ['run', 'projects and their sources', 'model and settings', 'last change', 'machine', 'time'], rows);
  }

  /** An element of a drawing. @param {string} name @param {Record<string, any>} properties @param {...(string|Node)} children */
  function draw(name, properties, ...children) {
    const element = document.createElementNS('http://www.w3.org/2000/svg', name);
    for (const [key, value] of Object.entries(properties)) {
      element.setAttribute(key, String(value));
    }
    element.append(...children);
    return element;
  }

  /** A name that leaves room for a figure beside it, even with the letters of a telephone. @param {string} name */
  function shortened(name) {
    return name.length <= 30 ? name : `${name.slice(0, 14)}…${name.slice(-15)}`;
  }

  /** pass@1 of each run with its interval, on one scale. @param {any} summary */
  function picture(summary) {
    const metric = summary.metrics.find((/** @type {any} */ one) => one.name === 'pass@1');
    const all = summary.rows.filter((/** @type {any} */ row) => row.kind === '*' && row.project === '*' && row.language === '*' && row.metrics['pass@1']);
    if (!metric || all.length === 0) {
      return '';
    }
    const [left, right, step] = [10, 590, 46];
    const height = all.length * step + 30;
    const x = (/** @type {number} */ share) => left + (right - left) * share;
    const parts = [0, 0.25, 0.5, 0.75, 1].flatMap((share) => [
      draw('line', { x1: x(share), x2: x(share), y1: 0, y2: height - 22, class: 'grid' }),
      draw('text', { x: x(share), y: height - 6, 'text-anchor': share === 0 ? 'start' : share === 1 ? 'end' : 'middle', class: 'scale' }, `${100 * share} %`),
    ]);
    all.forEach((/** @type {any} */ row, /** @type {number} */ index) => {
      const estimate = row.metrics['pass@1'];
      const y = index * step + 32;
      const text = fillrate.figure(estimate, metric.unit);
      const group = draw('g', { class: `series-${index % 8}` }, draw('title', {}, `${summary.runs[row.run].name}: ${text.value} % ${text.interval}, ${text.n}`));
      if (estimate.low !== null && estimate.high !== null) {
        group.append(draw('line', { x1: x(estimate.low), x2: x(estimate.high), y1: y, y2: y, class: 'whisker' }));
      }
      group.append(draw('circle', { cx: x(estimate.value), cy: y, r: 6 }));
      parts.push(
        draw('text', { x: left, y: y - 13, class: 'name' }, shortened(summary.runs[row.run].name)),
        draw('text', { x: right, y: y - 13, class: 'name', 'text-anchor': 'end' }, `${text.value} % ${text.interval}`),
        group,
      );
    });
    const names = all.map((/** @type {any} */ row) => {
      const text = fillrate.figure(row.metrics['pass@1'], metric.unit);
      return `${summary.runs[row.run].name} ${text.value} % ${text.interval}`;
    });
    return el('figure', { class: 'picture' },
      draw('svg', { viewBox: `0 0 600 ${height}`, role: 'img', 'aria-label': `pass@1 with its interval: ${names.join('; ')}` }, ...parts),
      el('figcaption', {}, unbroken(`pass@1: the share of holes at which a completion makes all tests pass, with its ${Math.round(100 * summary.confidence)} % interval. `),
        el('a', { href: 'matrix.html' }, 'Outcome at each hole')));
  }

  /** @param {any} summary */
  function figures(summary) {
    const place = /** @type {HTMLElement} */ (document.getElementById('figures'));
    const again = () => figures(summary);
    const head = (/** @type {string} */ key, /** @type {string} */ name, /** @type {string} */ below, /** @type {boolean} */ numeric, /** @type {string} */ about = '') => {
      const button = el('button', { type: 'button', title: about || null, onclick: () => {
        sorting.descending = sorting.key === key ? !sorting.descending : numeric;
        sorting.key = key;
        again();
        document.querySelector(`[data-sort="${CSS.escape(key)}"]`)?.querySelector('button')?.focus();
      } }, name);
      const direction = sorting.descending ? 'descending' : 'ascending';
      return el('th', { scope: 'col', 'data-sort': key, class: numeric ? 'numeric' : null, 'aria-sort': sorting.key === key ? direction : null }, button, below && el('small', {}, below));
    };
    const names = ['project', 'language', 'kind'].filter((name) => split.get(name) || (name === 'language' && split.get('project')));
    const heads = [
      head('run', 'run', '', false),
      ...names.map((name) => head(name, name, '', false)),
      ...summary.metrics.map((/** @type {any} */ metric) => head(metric.name, metric.title, metric.unit.symbol, true, about(metric))),
      head('holes', 'holes', '', true),
      head('completions', 'completions', '', true),
    ];
    const rows = rowsOf(summary).map((/** @type {any} */ row) => fillrate.row(
      el('span', {}, summary.runs[row.run].name, names.length === 0 && summary.best?.best === row.run && el('small', { class: 'best' }, summary.best.compared < summary.runs.length ? 'highest pass@1 of a model' : 'highest pass@1')),
      ...names.map((name) => row[name]),
      ...summary.metrics.map((/** @type {any} */ metric) =>
        figureCell(Object.hasOwn(row.metrics, metric.name) ? row.metrics[metric.name] : null, metric.unit)),
      el('td', { class: 'numeric' }, count(row.holes)),
      el('td', { class: 'numeric' }, count(row.completions)),
    ));
    const percent = Math.round(100 * summary.confidence);
    document.getElementById('policies')?.replaceChildren(...policies(summary));
    place.replaceChildren(
      fillrate.table(unbroken(`Figures, each with its ${percent} % interval and its n in a number of files, the clusters`), heads, rows),
    );
  }

  /** A metric's name in tables and exports, and its meaning. @param {any} metric */
  function about(metric) {
    return `${metric.name}: ${metric.about}`;
  }

  /** Returns a table of simulated developers' metrics, by policy. @param {any} summary */
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
    const heads = metrics.map((/** @type {any} */ metric) => el('th', { scope: 'col', class: 'numeric', title: about(metric) }, metric.title, el('small', {}, metric.unit.symbol)));
    return [
      el('h2', {}, 'Simulated developers'),
      el('p', {}, 'Each policy says what a simulated developer accepts. None of these figures is a person’s.'),
      fillrate.table('What simulated developers made of the completions, by policy', ['run', ...names, 'policy', el('th', { scope: 'col', class: 'numeric' }, 'holes'), ...heads], rows),
      ...summary.rankings.map((/** @type {string} */ text) => el('pre', { class: 'code', tabindex: '0', role: 'group', 'aria-label': 'Ranking under each policy' }, text)),
    ];
  }

  /** Returns each run's pass@1 for code changed since and before a date. @param {any} summary */
  function ages(summary) {
    if (summary.ages.length === 0) {
      return [];
    }
    const { since } = summary.ages[0];
    const unit = summary.metrics.find((/** @type {any} */ metric) => metric.name === 'pass@1')?.unit;
    const rows = summary.ages.map((/** @type {any} */ one, /** @type {number} */ index) => fillrate.row(
      summary.runs[index].name,
      figureCell(one.later, unit),
      figureCell(one.earlier, unit),
      figureCell(one.difference, summary.age_difference),
      el('td', { class: 'numeric' }, count(one.undated)),
    ));
    const heads = [`code changed since ${since}`, `changed before ${since}`, 'difference', 'holes without a date'].map((name, index) =>
      el('th', { scope: 'col', class: 'numeric' }, name, index < 3 && el('small', {}, index < 2 ? 'pass@1, %' : 'points')));
    return [
      el('h2', {}, 'Before and after a date'),
      el('p', {}, 'A model that learned the older code from its training passes less of what is newer. Newer code may also be harder, so compare the difference with another model’s.'),
      fillrate.table('pass@1 by when the code of a hole last changed', ['run', ...heads], rows),
    ];
  }

  /** Returns the shares that a gate holds back and loses, by threshold. @param {any} gate */
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

  /** Returns a table of attempts by outcome; each number links to them. @param {any} summary */
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
    return fillrate.table('Outcomes of first completions', ['run', ...seen.map((/** @type {string} */ name) => el('th', { scope: 'col', class: 'numeric' }, el('span', { class: `outcome ${name}` }, name)))], rows);
  }

  fillrate.page((summary) => {
    const main = /** @type {HTMLElement} */ (document.getElementById('main'));
    if (!begun) {
      begun = true;
      for (const name of (fillrate.state().get('by') ?? '').split(',').filter((name) => split.has(name))) {
        split.set(name, true);
      }
      const boxes = [...split.keys()].map((name) => {
        const box = el('input', { type: 'checkbox', checked: split.get(name) });
        box.addEventListener('change', () => {
          split.set(name, box.checked);
          fillrate.remember({ by: [...split.keys()].filter((key) => split.get(key)).join(',') });
          void fillrate.load('summary').then(figures);
        });
        return el('label', {}, box, ` by ${name}`);
      });
      main.append(
        el('div', { id: 'tasks' }),
        el('div', { id: 'answer' }),
        el('div', { id: 'picture' }),
        el('div', { id: 'ran' }),
        el('fieldset', { class: 'controls' }, el('legend', {}, 'Split rows'), ...boxes),
        el('div', { id: 'figures' }),
        el('div', { id: 'ages' }),
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
    document.getElementById('picture')?.replaceChildren(picture(summary));
    document.getElementById('ran')?.replaceChildren(ran(summary));
    figures(summary);
    const explained = [...summary.metrics, ...summary.policy_metrics].filter((metric, index, all) => all.findIndex(({ name }) => name === metric.name) === index);
    const isCut = summary.metrics.some((/** @type {any} */ metric) => metric.name.includes('cceval'));
    document.getElementById('notes')?.replaceChildren(...(isCut ? [el('p', {}, 'CrossCodeEval compares a completion’s first statement with the whole reference, so a reference of several statements is not 100 even against itself.')] : []), el('details', {}, el('summary', {}, 'What the figures mean'), el('dl', {}, ...explained.flatMap((/** @type {any} */ metric) => [el('dt', {}, metric.title, metric.title !== metric.name && el('code', {}, ` ${metric.name}`)), el('dd', {}, metric.about)]))));
    document.getElementById('ages')?.replaceChildren(...ages(summary));
    document.getElementById('outcomes')?.replaceChildren(outcomes(summary));
    performance.mark('first-view');
  });
})();
