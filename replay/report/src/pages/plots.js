'use strict';
(() => {
  const { el } = fillrate;
  const marks = ['●', '▲', '✕'];

  /** A cell of the table below a plot. @param {any} value @param {string} column */
  function cell(value, column) {
    if (value !== null && typeof value === 'object') {
      return fillrate.figureCell(value, value.unit);
    }
    return el('td', { class: typeof value === 'number' ? 'numeric' : null }, typeof value === 'number' && !column.startsWith('k') ? value.toLocaleString('en') : String(value));
  }

  /** @param {any} plot */
  function figure(plot) {
    const parts = [];
    if (plot.svg) {
      // Drawn by a library on our side; parsed as a document of its own, whose scripts, if there
      // were any, would not run.
      const drawings = Object.entries(plot.svg).map(([width, text]) => {
        const drawing = new DOMParser().parseFromString(/** @type {string} */ (text), 'image/svg+xml').documentElement;
        drawing.setAttribute('role', 'img');
        drawing.setAttribute('aria-label', `${plot.title}; its figures are in the table below`);
        drawing.setAttribute('class', `drawing ${width}`);
        return document.importNode(drawing, true);
      });
      parts.push(
        ...drawings,
        el('ul', { class: 'legend', 'aria-label': 'Legend' }, ...plot.series.map((/** @type {string} */ name, /** @type {number} */ index) =>
          el('li', {}, el('span', { class: `mark series-${index % 8}`, 'aria-hidden': 'true' }, marks[index % 3]), ' ', name))),
      );
    }
    parts.push(el('figcaption', {}, plot.about));
    if (plot.rows.length > 0) {
      const rows = plot.rows.map((/** @type {any[]} */ values) => el('tr', {}, ...values.map((value, index) => cell(value, plot.columns[index]))));
      parts.push(el('details', {}, el('summary', {}, `Figures (${plot.rows.length} rows)`), fillrate.table(`${plot.title}: figures; shares in %`, plot.columns, rows)));
    }
    return el('section', { id: plot.name, 'aria-labelledby': `${plot.name}-title` }, el('h2', { id: `${plot.name}-title` }, plot.title), el('figure', {}, ...parts));
  }

  fillrate.page(async () => {
    const { plots } = await fillrate.load('plots');
    const main = /** @type {HTMLElement} */ (document.getElementById('main'));
    const place = document.getElementById('plots') ?? main.appendChild(el('div', { id: 'plots' }));
    const drawn = plots.filter((/** @type {any} */ plot) => plot.svg);
    const others = plots.filter((/** @type {any} */ plot) => !plot.svg);
    place.replaceChildren(
      drawn.length > 0 ? '' : el('p', {}, 'There is nothing to draw yet.'),
      ...drawn.map(figure),
      others.length === 0 ? '' : el('details', { id: 'not-drawn' },
        el('summary', {}, `Not drawn, because no attempt has what they need (${others.length})`),
        el('dl', {}, ...others.flatMap((/** @type {any} */ plot) => [el('dt', {}, plot.title), el('dd', {}, plot.about)]))),
    );
    performance.mark('first-view');
  });
})();
