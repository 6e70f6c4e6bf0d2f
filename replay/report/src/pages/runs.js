'use strict';
(() => {
  const { el, count, number } = fillrate;

  /** A number, and what share of another it is. @param {number} part @param {number|null} whole */
  function share(part, whole) {
    const numeric = el('td', { class: 'numeric' }, count(part));
    const meter = whole ? el('meter', { min: 0, max: whole, value: part, 'aria-label': `${count(part)} of ${count(whole)}` }) : '';
    const percent = whole ? `${number((100 * part) / whole, 1)} %` : '–';
    return [numeric, el('td', { class: 'numeric' }, percent), el('td', {}, meter)];
  }

  /** @param {any} run */
  function outcomes(run) {
    const { expected, asked, answered, offered, judged, passed } = run.funnel;
    const steps = /** @type {[string, number, number|null][]} */ ([
      ['attempts', asked, expected],
      ['answered in time', answered, asked],
      ['with a completion', offered, answered],
      ['judged: the outcome says whether it was right', judged, offered],
      ['passed', passed, judged],
    ]);
    return fillrate.table('From request to pass, first completions only', ['step', 'attempts', 'share', 'of the row above'], steps.map(([name, part, whole]) => fillrate.row(name, ...share(part, whole))));
  }

  /** @param {any} run */
  function admission(run) {
    const projects = Object.entries(run.projects);
    const reasons = [...new Set(projects.flatMap(([, project]) => Object.keys(project.mined?.rejected ?? {})))].sort();
    const rows = projects.map(([name, project]) => {
      const mined = project.mined;
      const numeric = (/** @type {number|undefined} */ value) => el('td', { class: 'numeric' }, value === undefined ? '–' : count(value));
      return fillrate.row(name, project.language, project.status + (project.reason ? `: ${project.reason}` : ''), numeric(mined?.tests), numeric(mined?.quarantined), numeric(mined?.candidates), ...reasons.map((reason) => numeric(mined ? mined.rejected[reason] ?? 0 : undefined)), numeric(mined?.admitted));
    });
    return fillrate.table('Admission: the stretches of code that could be a hole, those that were tried and left out, by reason, and the holes admitted', ['project', 'language', 'state', 'tests', 'tests put aside as flaky', 'candidates', ...reasons, 'admitted'], rows);
  }

  /** @param {any} run */
  function trust(run) {
    const parts = [
      el('p', {}, `Verdicts that hung on tests which run no line of the completion, so that these were run again: ${count(run.reruns)}.`),
      el('p', {}, run.audited === 0 ? 'No verdict was judged again by the naive engine (fillrate audit).' : `Verdicts judged again by the naive engine: ${count(run.audited)}; of these differ: ${count(run.differing.length)}.`),
    ];
    if (run.differing.length > 0) {
      parts.push(fillrate.table('Verdicts that differ', ['hole', 'outcome', 'rejudged', 'reason'], run.differing.map((/** @type {any} */ audit) => fillrate.row(el('a', { href: fillrate.holeAddress(audit.hole) }, audit.hole), audit.outcome, audit.rejudged, audit.reason))));
    }
    return parts;
  }

  /** Settings, one row for each that is not a table itself. @param {any} value @param {string} name @returns {[string, string][]} */
  function flat(value, name) {
    if (value !== null && typeof value === 'object' && !Array.isArray(value)) {
      return Object.entries(value).flatMap(([key, inner]) => flat(inner, name === '' ? key : `${name}.${key}`));
    }
    return [[name, typeof value === 'string' ? value : JSON.stringify(value)]];
  }

  /** @param {any} run */
  function manifest(run) {
    /** @type {[string, string][]} */
    const rows = [['folder', run.folder], ['finished', run.finished ? 'yes' : 'no'], ['holes', count(run.holes)]];
    for (const [level, verdicts] of Object.entries(run.sandboxes)) {
      rows.push(['sandbox', `${level}, verdicts: ${count(/** @type {number} */ (verdicts))}`]);
    }
    for (const machine of run.machines) {
      const memory = machine.memory_bytes === null ? '' : `, ${number(machine.memory_bytes / 2 ** 30, 1)} GiB`;
      rows.push(['machine', `${machine.processor ?? machine.architecture}, ${machine.processors} processors${memory}, ${machine.architecture}, ${machine.kernel}, fillrate ${machine.program}`]);
    }
    if (run.time_spent !== null) {
      rows.push(['time', run.time_spent]);
    }
    // What is not set is left out.
    rows.push(...flat(run.identity, '').filter(([, value]) => value !== 'null'));
    // In such a window the style sheet stacks its rows, and they fill ten screens.
    const isNarrow = matchMedia('(max-width: 820px)').matches;
    return el('details', { open: !isNarrow }, el('summary', {}, 'Manifest'), fillrate.table('What the run is of: versions, seeds, hashes, settings, machine, isolation', ['what', 'value'], rows.map(([name, value]) => fillrate.row(name, el('td', { class: 'code' }, value)))));
  }

  /** @param {any} summary @param {any} run */
  function rounds(summary, run) {
    if (run.rounds.length === 0) {
      return '';
    }
    const metrics = summary.round_metrics;
    return fillrate.table('Repair rounds: the latest completions after so many rounds in which the model saw its failing tests', ['round', 'attempts', ...metrics.map((/** @type {any} */ metric) => `${metric.name}, ${metric.unit.symbol}`)], run.rounds.map((/** @type {any} */ round) => fillrate.row(String(round.round), el('td', { class: 'numeric' }, count(round.attempts)), ...metrics.map((/** @type {any} */ metric) => fillrate.figureCell(round.metrics[metric.name], metric.unit)))));
  }

  fillrate.page((summary) => {
    const main = /** @type {HTMLElement} */ (document.getElementById('main'));
    const place = document.getElementById('runs') ?? main.appendChild(el('div', { id: 'runs' }));
    const links = el('ul', { class: 'legend' }, ...summary.runs.map((/** @type {any} */ run, /** @type {number} */ index) => el('li', {}, el('a', { href: `#run-${index}` }, run.name))));
    place.replaceChildren(
      summary.runs.length > 1 ? links : '',
      ...summary.runs.map((/** @type {any} */ run, /** @type {number} */ index) =>
        el('section', { id: `run-${index}`, 'aria-label': run.name }, el('h2', {}, run.name), outcomes(run), rounds(summary, run), admission(run), ...trust(run), manifest(run))),
      el('p', { class: 'n' }, `This report was written by fillrate ${summary.program}.`),
    );
    performance.mark('first-view');
  });
})();
