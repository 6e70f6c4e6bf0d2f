'use strict';
(() => {
  const { el } = fillrate;
  const marks = ['●', '▲', '✕'];

  /** A cell of the table below a plot. @param {any} value @param {string} column @param {number} [places] decimal places */
  function cell(value, column, places = 0) {
    if (value !== null && typeof value === 'object') {
      return fillrate.figureCell(value, value.unit);
    }
    return el('td', { class: typeof value === 'number' ? 'numeric' : null }, typeof value === 'number' && !column.startsWith('k') ? value.toLocaleString('en', { minimumFractionDigits: places }) : String(value));
  }

  /** The figures of a point, as text. @param {any} plot @param {number} row */
  function said(plot, row) {
    return plot.columns.map((/** @type {string} */ column, /** @type {number} */ index) =>
      `${column} ${cell(plot.rows[row][index], column).textContent}`).join(', ');
  }

  /**
   * A link on a point to the attempts behind it, which shows their figures to a pointer or a key.
   * @param {any} plot @param {any} target @param {number} width the number of the picture
   */
  function link(plot, target, width) {
    const svg = (/** @type {string} */ name) => document.createElementNS('http://www.w3.org/2000/svg', name);
    const [across, down] = target.at[width];
    const circle = svg('circle');
    circle.setAttribute('cx', across);
    circle.setAttribute('cy', down);
    circle.setAttribute('r', '10');
    const text = said(plot, target.row);
    // Points that cover each other show the figures of all.
    const covers = (/** @type {any} */ other) =>
      Math.hypot(other.at[width][0] - across, other.at[width][1] - down) < 6;
    const texts = plot.targets.filter(covers).map((/** @type {any} */ other) => said(plot, other.row));
    circle.appendChild(svg('title')).textContent = [...new Set(texts)].join('\n');
    const state = new URLSearchParams({ run: target.run });
    const language = plot.columns.indexOf('language');
    if (language >= 0) {
      state.set('language', plot.rows[target.row][language]);
    }
    const place = svg('a');
    place.setAttribute('href', `attempts.html#${state}`);
    place.setAttribute('aria-label', text);
    place.setAttribute('class', 'point');
    place.appendChild(circle);
    return place;
  }

  /** @param {any} plot */
  function figure(plot) {
    const parts = [];
    if (plot.svg) {
      // Drawn by a library on our side; parsed as a document of its own, whose scripts, if there
      // were any, would not run.
      const drawings = Object.entries(plot.svg).map(([width, text], number) => {
        const drawing = new DOMParser().parseFromString(/** @type {string} */ (text), 'image/svg+xml').documentElement;
        // The points are links, which an image can't have.
        drawing.setAttribute('role', 'group');
        drawing.setAttribute('aria-label', `${plot.title}; its figures are in the table below`);
        drawing.setAttribute('class', `drawing ${width}`);
        const shown = document.importNode(drawing, true);
        shown.append(...plot.targets.map((/** @type {any} */ target) => link(plot, target, number)));
        return shown;
      });
      parts.push(
        ...drawings,
        el('ul', { class: 'legend', 'aria-label': 'Legend' }, ...plot.series.map((/** @type {[number, string]} */ [index, name]) =>
          el('li', {}, el('span', { class: `mark series-${index % 8}`, 'aria-hidden': 'true' }, marks[index % 3]), ' ', name))),
      );
    }
    parts.push(el('figcaption', {}, plot.about));
    if (plot.rows.length > 0) {
      // One number of a column with a decimal place gives all of them one.
      const places = plot.columns.map((/** @type {string} */ _, /** @type {number} */ index) =>
        Number(plot.rows.some((/** @type {any[]} */ values) => typeof values[index] === 'number' && !Number.isInteger(values[index]))));
      const rows = plot.rows.map((/** @type {any[]} */ [first, ...others]) => fillrate.row(cell(first, plot.columns[0], places[0]).textContent, ...others.map((value, index) => cell(value, plot.columns[index + 1], places[index + 1]))));
      parts.push(el('details', {}, el('summary', {}, `Figures (${fillrate.things(plot.rows.length, 'row')})`), fillrate.table(`${plot.title}: figures; shares in %`, plot.columns, rows)));
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
