'use strict';
(() => {
  const { el, code, count, number, things } = fillrate;
  /** @type {any} */
  let holes = null;
  /** @type {any} */
  let summary = null;
  /** Most runs whose attempts are open at first. */
  const SIDE_BY_SIDE = 4;
  /** Address and hole of the page as drawn, so that an unchanged page is not redrawn. */
  let drawn = '';

  /** Returns the hole and the attempt that the address names. */
  function wanted() {
    const state = fillrate.state();
    const id = state.get('hole') ?? decodeURIComponent(location.hash.slice(1));
    const numbered = (/** @type {string} */ name) => state.has(name) ? Number(state.get(name)) : null;
    return { id, run: numbered('run'), sample: numbered('sample'), round: numbered('round') ?? 0 };
  }

  /** Source with its lines' numbers and the hole marked. @param {any} hole */
  function source(hole) {
    const all = [hole.before, hole.inside, hole.after].flat();
    const lines = all.reduce((sum, [, text]) => sum + text.split('\n').length - 1, 1);
    const numbers = Array.from({ length: lines }, (_, index) => hole.first_line + index).join('\n');
    const pieces = (/** @type {[string, string][]} */ part) => part.map(fillrate.piece);
    const mark = el('mark', { id: 'the-hole' }, ...pieces(hole.inside));
    const box = el('div', { class: 'source', tabindex: '0', role: 'region', 'aria-label': `${hole.path} with the hole marked` }, el('pre', { class: 'numbers', 'aria-hidden': 'true' }, numbers), el('pre', {}, ...pieces(hole.before), mark, ...pieces(hole.after)));
    requestAnimationFrame(() => fillrate.bringIntoView(box, mark));
    return box;
  }

  /** Returns a text with signs for line ends, tabs and trailing spaces. @param {string} text */
  function visible(text) {
    return text.replaceAll('\n', '↵\n').replaceAll('\t', '→\t').replace(/ (?=$|↵)/gm, '·');
  }

  /** The reference against a completion. @param {[number, string][]} pieces @param {string} title of the attempt */
  function difference(pieces, title) {
    const parts = pieces.map(([side, text]) => {
      if (side === 0) {
        return text;
      }
      return side < 0 ? el('del', {}, visible(text)) : el('ins', {}, visible(text));
    });
    return el('pre', { class: 'code diff', tabindex: '0', role: 'region', 'aria-label': `${title}, difference: deleted is what only the reference has, inserted what only the completion has` }, ...parts);
  }

  /** @param {string} title @param {...(string|Node|false|null)} parts */
  function fold(title, ...parts) {
    return el('details', {}, el('summary', {}, title), ...parts);
  }

  /** The value of a metric in the unit that tables have. @param {string} name @param {number} value */
  function measured(name, value) {
    const unit = fillrate.metricNamed(summary, name)?.unit;
    return unit ? `${number(value * unit.scale, unit.decimals)} ${unit.symbol}` : number(value, 2);
  }

  /** A reason with its code as code, which is between backticks. @param {string} text @returns {(string|Node)[]} */
  function prose(text) {
    return text.split('`').map((part, index) => index % 2 === 1 ? el('code', {}, part) : part);
  }

  /** @param {any} attempt */
  function facts(attempt) {
    const verdict = attempt.verdict;
    const trace = attempt.trace;
    const ms = (/** @type {number|null|undefined} */ value) => value === null || value === undefined ? null : `${number(value, 1)} ms`;
    const latency = ms(attempt.measured_ms) ?? (attempt.answered || attempt.offered.length > 0 ? null : 'no answer in time');
    /** @type {[string, string|null|undefined|false][]} */
    const rows = [
      ['accepted by oracle-prefix', attempt.accepted === null ? attempt.offered.length === 0 ? 'nothing was offered' : null : attempt.accepted ? 'yes' : 'no'],
      ...Object.entries(attempt.text).map(([name, value]) => /** @type {[string, string]} */ ([fillrate.titleOf(summary, name), measured(name, value)])),
      [fillrate.titleOf(summary, 'DIR/repository'), attempt.invocation === null ? null : measured('DIR/repository', attempt.invocation)],
      ["mean probability of a token", attempt.probability === null ? null : number(attempt.probability, 3)],
      ['latency', latency],
      [`${latency === null ? 'time' : 'of that'}: waiting, context, model, clean-up`, trace && [trace.wait_ms, trace.context_ms, trace.model_ms, trace.cleanup_ms].map(ms).join(', ')],
      ['first text', trace && ms(trace.first_text_ms)],
      ['came from', trace && trace.source],
      ['how the model is asked', trace && trace.about],
      ['configuration', trace && trace.configuration],
      ['tests run', `${count(verdict.executed)} in ${number(verdict.seconds, 2)} s${verdict.rerun ? ', some rerun' : ''}`],
      ['sandbox', verdict.sandbox],
      ['missing evidence', (verdict.missing ?? []).join(', ')],
      ['evidence its runner can’t show', (verdict.unchecked ?? []).join(', ')],
      ['type errors it adds', verdict.types && `${verdict.types.own.count} in the file, ${verdict.types.others.count} in others`],
      ['judged again by the naive engine', attempt.audit && `${attempt.audit.rejudged}: ${attempt.audit.reason}`],
    ];
    return el('dl', { class: 'facts' }, ...rows.filter(([, value]) => value).flatMap(([name, value]) => [el('dt', {}, name), el('dd', {}, String(value))]));
  }

  /** @param {any} input @param {any} trace @param {(text: string, label: string) => Node} box shows a text of the attempt */
  function context(input, trace, box) {
    if (!input) {
      return [];
    }
    const windows = input.windows.map((/** @type {any} */ window) => {
      const place = `${window.path}:${window.first_line + 1}`;
      return fold(`${place}, score ${number(window.score, 3)}`, box(window.text, place));
    });
    return [
      windows.length > 0 && fold(`Context: ${things(windows.length, 'window')}`, ...windows),
      trace.first_round && fold('First round’s completion', box(trace.first_round, 'First round')),
      input.prompt !== '' && fold('Prompt', box(input.prompt, 'Prompt')),
    ];
  }

  /** @param {any} hole @param {any} attempt @param {boolean} open */
  function show(hole, attempt, open) {
    const verdict = attempt.verdict;
    const run = summary.runs[attempt.run].name;
    const title = `${run}, sample ${attempt.sample}${attempt.repair_round ? `, round ${attempt.repair_round}` : ''}`;
    const input = attempt.input === null ? null : hole.prompts[attempt.input];
    const others = attempt.offered.slice(1);
    const traced = attempt.trace ?? {};
    const failure = traced.fault ?? traced.nothing;
    const isOffered = attempt.offered.length > 0;
    const outcome = fillrate.outcomeText(verdict.outcome, isOffered);
    const decided = attempt.steps.filter((/** @type {any} */ step) => step.decisions.length > 0);
    const details = el('details', { class: 'attempt', id: `attempt-${attempt.run}-${attempt.sample}-${attempt.repair_round ?? 0}`, open },
      el('summary', {}, title, ' ', el('span', { class: `outcome ${verdict.outcome}` }, outcome.text), ' ', el('span', { class: 'n' }, outcome.about && `${outcome.about}: `, ...prose(verdict.reason))));
    /** Made when it is looked at: a hole may have many attempts. */
    const fill = () => {
      if (!details.open || details.children.length > 1) {
        return;
      }
      /** Several attempts have texts of one name. @param {string} text @param {string} label */
      const box = (text, label) => code(text, `${title}, ${label}`);
      const parts = [
        el('h3', {}, 'Reference against completion'),
        isOffered ? difference(attempt.difference, title) : el('p', {}, ...prose(`There was no completion${failure ? `: ${failure}` : ''}. Nothing was put into the hole.`)),
        isOffered && fold('Completion alone', box(attempt.offered[0], 'Completion')),
        others.length > 0 && fold(things(others.length, 'more candidate'), ...others.map((/** @type {string} */ text, /** @type {number} */ index) => box(text, `Candidate ${index + 2}`))),
        facts(attempt),
        decided.length > 0 && fold('Clean-up', ...decided.flatMap((/** @type {any} */ step, /** @type {number} */ at) => [
          el('h4', {}, 'As the model gave it'),
          box(step.raw, `Clean-up ${at + 1}: as the model gave it`),
          ...step.decisions.flatMap((/** @type {any} */ decision, /** @type {number} */ index) => [
            el('h4', {}, `${decision.rewritten ? 'Rewritten' : 'Removed'} by ${decision.rule}`),
            box(decision.removed, `Clean-up ${at + 1}.${index + 1}: ${decision.rule}`),
          ]),
        ])),
        ...context(input, traced, box),
        verdict.failed.length > 0 && fold(`Failed tests: ${verdict.failed.length}`, el('ul', {}, ...verdict.failed.map((/** @type {string} */ test) => el('li', { class: 'code' }, test)))),
        verdict.types && fold('Type errors', box([...verdict.types.own.first, ...verdict.types.others.first].join('\n'), 'Type errors')),
        verdict.output !== '' && fold('Test output', box(verdict.output, 'Test output')),
      ];
      details.append(...parts.filter(Boolean));
    };
    details.addEventListener('toggle', fill);
    fill();
    return details;
  }

  /** Lists the simulated developers' actions, by policy. @param {[number, any][]} typings */
  function typed(typings) {
    const rows = typings.map(([run, typing]) => {
      const { requests, keys, duration_ms } = typing.session;
      const cells = [requests.length, requests.filter((/** @type {any} */ one) => one.result === 'shown').length, requests.filter((/** @type {any} */ one) => one.accepted).length, keys.typed, keys.accepts, keys.deletes, Math.round(duration_ms)];
      return fillrate.row(summary.runs[run].name, typing.policy, ...cells.map((value) => el('td', { class: 'numeric' }, count(value))));
    });
    const steps = typings.map(([run, typing]) => {
      const lines = typing.session.requests.map((/** @type {any} */ one) => {
        const taken = one.accepted ? `, accepted: ${things(one.accepted.kept, 'character')} kept, ${one.accepted.removed} taken back` : '';
        const outcome = one.outcome ? `, ${one.outcome}` : '';
        return `${number(one.at_ms, 0)} ms, ${things(one.written, 'byte')} written: ${one.result}${taken}${outcome}${one.candidates.length > 0 ? `\n    ${JSON.stringify(one.candidates[0])}` : ''}`;
      });
      return fold(`${summary.runs[run].name}, ${typing.policy}: each request`, code(lines.join('\n'), `${summary.runs[run].name}, ${typing.policy}: requests`));
    });
    const heads = ['requests', 'shown', 'accepted', 'keys typed', 'keys to accept', 'keys to take back', 'ms'];
    return [el('h2', {}, 'Typed by simulated developers'), fillrate.table('What each policy made of it', ['run', 'policy', ...heads.map((name) => el('th', { scope: 'col', class: 'numeric' }, name))], rows), ...steps];
  }

  /** @param {any} hole */
  function about(hole) {
    const mutation = hole.mutation;
    /** @type {[string, string|null|undefined|false][]} */
    const rows = [
      ['project', hole.project],
      ['file', hole.path],
      ['language', hole.language],
      ['kind', hole.kind],
      ['category', hole.category && `${hole.category.name}: ${hole.category.reason}`],
      ['benchmark’s task', hole.task_id],
      ['dependencies', hole.dependencies && (hole.dependencies.length > 0 ? hole.dependencies.join(', ') : 'none')],
      ['mutants', mutation && `${mutation.killed} killed, ${mutation.survived} survived, ${mutation.timeout} ran into a limit`],
      ['file’s SHA-256', hole.file_sha256],
    ];
    const survivors = mutation?.survivors ?? [];
    return [
      el('dl', { class: 'facts' }, ...rows.filter(([, value]) => value).flatMap(([name, value]) => [el('dt', {}, name), el('dd', {}, ...prose(String(value)))])),
      survivors.length > 0 && fold(`Faults that no test noticed: ${survivors.length}`, ...survivors.flatMap((/** @type {any} */ one) => [el('h4', {}, one.fault), code(one.diff, one.fault)])),
    ];
  }

  /** Returns the attempts that are open at first: one of each run side by side, or the named one if the runs are too many for that. @param {any[]} all @param {any} named */
  function opened(all, named) {
    const byRun = new Map();
    for (const attempt of [...(named ? [named] : []), ...all]) {
      if (!byRun.has(attempt.run)) {
        byRun.set(attempt.run, attempt);
      }
    }
    return new Set(byRun.size <= SIDE_BY_SIDE ? byRun.values() : [named ?? all[0]]);
  }

  async function draw() {
    const main = /** @type {HTMLElement} */ (document.getElementById('main'));
    const asked = wanted();
    const place = holes.id.indexOf(asked.id);
    const empty = () => {
      document.getElementById('hole')?.remove();
      return main.appendChild(el('div', { id: 'hole' }));
    };
    if (place < 0) {
      drawn = '';
      const box = empty();
      box.append(el('p', { role: 'alert' }, asked.id === '' ? 'No hole is named. ' : `The report has no hole ${asked.id}. `, el('a', { href: 'attempts.html' }, 'All attempts')));
      return;
    }
    const shard = Math.floor(place / summary.holes_in_detail);
    const details = await fillrate.load(`hole-${shard}`);
    const hole = details.holes[place - details.first];
    const now = location.hash + JSON.stringify(hole);
    if (now === drawn) {
      return;
    }
    drawn = now;
    const box = empty();
    const heading = /** @type {HTMLElement} */ (main.querySelector('h1'));
    heading.replaceChildren(...fillrate.breakable(hole.id));
    document.title = `${hole.id} – Fillrate`;
    const step = (/** @type {number} */ to, /** @type {string} */ text, /** @type {string} */ key) =>
      holes.id[to] === undefined ? '' : el('a', { href: fillrate.holeAddress(holes.id[to]), 'data-key': key, title: `Key ${key}` }, text);
    const all = hole.attempts;
    const open = opened(all, all.find((/** @type {any} */ attempt) => attempt.run === asked.run && attempt.sample === asked.sample && (attempt.repair_round ?? 0) === asked.round));
    const columns = [...new Set(all.map((/** @type {any} */ attempt) => attempt.run))].map((run) =>
      el('div', {}, ...all.filter((/** @type {any} */ attempt) => attempt.run === run).map((/** @type {any} */ attempt) => show(hole, attempt, open.has(attempt)))));
    const cut = (/** @type {number} */ lines, /** @type {string} */ where) => lines > 0 && el('p', { class: 'n' }, `${things(lines, 'line')} ${where} ${lines === 1 ? 'is' : 'are'} left out.`);
    box.append(
      el('p', { class: 'steps' }, step(place - 1, '← Hole before (k)', 'k'), ' ', step(place + 1, 'Next hole (j) →', 'j'), ' ', el('a', { href: fillrate.fileAddress(hole.file) }, 'All holes of the file')),
      ...about(hole).filter(Boolean),
      el('h2', {}, 'Source'),
      ...[cut(hole.left_out[0], 'above'), source(hole), cut(hole.left_out[1], 'below')].filter(Boolean),
      el('h2', {}, `Attempts: ${count(all.length)}`),
      el('div', { class: 'attempts' }, ...columns),
      ...(hole.typings.length > 0 ? typed(hole.typings) : []),
    );
    if (asked.run !== null) {
      document.getElementById(`attempt-${asked.run}-${asked.sample}-${asked.round}`)?.scrollIntoView();
    }
    performance.mark('first-view');
  }

  addEventListener('hashchange', () => {
    if (holes) {
      void draw();
      scrollTo(0, 0);
    }
  });
  addEventListener('keydown', (event) => {
    if (!event.ctrlKey && !event.metaKey && !event.altKey && (event.key === 'j' || event.key === 'k')) {
      /** @type {HTMLElement|null} */ (document.querySelector(`[data-key="${event.key}"]`))?.click();
    }
  });
  addEventListener('beforeprint', () => {
    for (const details of document.querySelectorAll('details.attempt[open] details')) {
      /** @type {HTMLDetailsElement} */ (details).open = true;
    }
  });

  fillrate.page(async (newSummary) => {
    summary = newSummary;
    holes = await fillrate.load('holes');
    await draw();
  });
})();
