'use strict';
(() => {
  const { el, count, number } = fillrate;
  /** @type {any} */
  let summary = null;
  /** @type {any} */
  let files = null;
  /** @type {any} */
  let holes = null;

  /** Returns the class and the text of a hole's result in some runs. @param {[number, number][]} runs */
  function result(runs) {
    const passed = runs.reduce((sum, one) => sum + one[0], 0);
    const judged = runs.reduce((sum, one) => sum + one[1], 0);
    const name = judged === 0 ? 'unjudged' : passed === judged ? 'passed' : passed === 0 ? 'failed' : 'mixed';
    return { name, text: judged === 0 ? 'no verdict' : `${count(passed)} of ${count(judged)} pass` };
  }

  /** All files. @param {HTMLElement} box */
  function list(box) {
    const share = (/** @type {number} */ item) => files.judged[item] === 0 ? -1 : files.passed[item] / files.judged[item];
    const by = (/** @type {(item: number) => any} */ of) => (/** @type {number} */ a, /** @type {number} */ b) => of(a) < of(b) ? -1 : of(a) > of(b) ? 1 : 0;
    const open = (/** @type {number} */ item) => {
      location.hash = fillrate.fileAddress(files.name[item]).split('#')[1];
    };
    const table = new LongTable('Files', [
      { name: 'file', width: 320, cell: (item) => el('a', { href: fillrate.fileAddress(files.name[item]), tabindex: '-1', title: files.name[item] }, fillrate.cuttable(files.name[item])), compare: by((item) => files.name[item]) },
      { name: 'holes', width: 96, numeric: true, cell: (item) => count(files.holes[item]), compare: by((item) => files.holes[item]) },
      { name: 'attempts', width: 100, numeric: true, about: 'Attempts with a verdict, in all runs', cell: (item) => count(files.judged[item]), compare: by((item) => files.judged[item]) },
      { name: 'pass', width: 96, early: true, numeric: true, about: 'The share of these that pass', cell: (item) => share(item) < 0 ? '–' : `${number(100 * share(item), 1)} %`, compare: by(share) },
    ], open);
    box.append(el('p', {}, `${fillrate.things(files.name.length, 'file has', 'files have')} holes.`), table.element);
    table.show(Uint32Array.from(files.name.keys()));
  }

  /** One file with its holes marked. @param {HTMLElement} box @param {number} place */
  async function show(box, place) {
    const file = await fillrate.load(`file-${place}`);
    const choice = /** @type {HTMLSelectElement} */ (el('select', { id: 'file-run' }, el('option', { value: '' }, 'all runs'), ...summary.runs.map((/** @type {any} */ run, /** @type {number} */ index) => el('option', { value: index }, run.name))));
    const chosen = (/** @type {any} */ hole) => choice.value === '' ? hole.runs : [hole.runs[Number(choice.value)]];
    const lines = file.pieces.reduce((/** @type {number} */ sum, /** @type {any} */ piece) => sum + piece[2].split('\n').length - 1, 1);
    const text = el('pre', {});
    const draw = () => {
      text.replaceChildren();
      /** @type {number|null} */
      let last = null;
      /** @type {HTMLElement} */
      let target = text;
      for (const [kind, hole, piece] of file.pieces) {
        if (hole !== last) {
          target = text;
          if (hole !== null) {
            const { name, text: phrase } = result(chosen(file.holes[hole]));
            const id = holes.id[file.holes[hole].place];
            target = el('a', { class: `hole ${name}`, href: fillrate.holeAddress(id), title: `${id}: ${phrase}` });
            text.append(target);
          }
          last = hole;
        }
        target.append(fillrate.piece([kind, piece]));
      }
    };
    choice.value = fillrate.state().get('run') ?? '';
    if (choice.selectedIndex < 0) {
      choice.value = '';
    }
    choice.addEventListener('change', () => {
      fillrate.remember({ run: choice.value });
      draw();
    });
    draw();
    const numbers = Array.from({ length: lines }, (_, index) => index + 1).join('\n');
    const source = el('div', { class: 'source whole', tabindex: '0', role: 'region', 'aria-label': `${files.name[place]} with its holes marked` }, el('pre', { class: 'numbers', 'aria-hidden': 'true' }, numbers), text);
    const legend = [['passed', 'every attempt passes'], ['mixed', 'some pass'], ['failed', 'none passes'], ['unjudged', 'no verdict']];
    box.append(
      el('p', { class: 'steps' }, el('a', { href: 'files.html#' }, 'All files')),
      el('form', { class: 'controls', onsubmit: (/** @type {Event} */ event) => event.preventDefault() }, el('label', { for: 'file-run' }, 'Colours of ', choice)),
      el('ul', { class: 'legend' }, ...legend.map(([name, meaning]) => el('li', {}, el('span', { class: `hole ${name}` }, name), ` ${meaning}`))),
      source,
      el('h2', {}, `Holes: ${count(file.holes.length)}`),
      fillrate.table('Attempts that pass, of those with a verdict', ['hole', 'kind', ...summary.runs.map((/** @type {any} */ run) => run.name)], file.holes.map((/** @type {any} */ hole) => fillrate.row(
        el('a', { href: fillrate.holeAddress(holes.id[hole.place]), title: holes.id[hole.place] }, fillrate.shortName(holes.id[hole.place]).slice(files.name[place].lastIndexOf('/') + 1)),
        holes.kind[hole.place],
        ...hole.runs.map((/** @type {[number, number]} */ run) => {
          const { name, text } = result([run]);
          return el('td', {}, el('span', { class: `hole ${name}` }, text));
        })))),
    );
    fillrate.bringIntoView(source, text.querySelector('.hole'));
  }

  async function draw() {
    const main = /** @type {HTMLElement} */ (document.getElementById('main'));
    const name = fillrate.state().get('file') ?? '';
    const heading = /** @type {HTMLElement} */ (main.querySelector('h1'));
    heading.replaceChildren(...(name === '' ? ['Files'] : fillrate.breakable(name)));
    document.title = `${heading.textContent} – Fillrate`;
    document.getElementById('file')?.remove();
    const box = main.appendChild(el('div', { id: 'file' }));
    const place = files.name.indexOf(name);
    if (name === '') {
      list(box);
    } else if (place < 0) {
      box.append(el('p', { role: 'alert' }, `The report has no file ${name}. `, el('a', { href: 'files.html#' }, 'All files')));
    } else {
      await show(box, place);
    }
    performance.mark('first-view');
  }

  addEventListener('hashchange', () => {
    if (files) {
      void draw();
      scrollTo(0, 0);
    }
  });

  fillrate.page(async (newSummary) => {
    summary = newSummary;
    [files, holes] = await Promise.all([fillrate.load('files'), fillrate.load('holes')]);
    await draw();
  });
})();
