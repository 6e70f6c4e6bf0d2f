'use strict';
(() => {
  const { el, count, number } = fillrate;
  /** The pair that is shown: at first the one that the address names, if it names one. */
  let shown = -1;

  /** @param {any} summary @param {any} holes @param {any} pair */
  function show(summary, holes, pair) {
    const [first, second] = [summary.runs[pair.first].name, summary.runs[pair.second].name];
    const isTested = pair.against.some((/** @type {[string, any, NumberFormat]} */ [, against]) => against.mcnemar);
    const metrics = pair.against.map((/** @type {[string, any, NumberFormat]} */ [metric, against, unit]) => {
      const test = against.mcnemar;
      const tested = [test && count(test.only_first), test && count(test.only_this), test && (test.p < 0.001 ? '< 0.001' : number(test.p, 3))];
      return fillrate.row(el('span', {}, fillrate.titleOf(summary, metric), unit.symbol !== '' && el('small', { class: 'n' }, ` ${unit.symbol}`)), fillrate.figureCell(against.difference, unit),
        ...(isTested ? tested : []).map((text) => el('td', { class: 'numeric' }, text ?? '–')));
    });
    /** @type {[LongTable, Uint32Array][]} */
    const tables = [];
    const parts = [
      fillrate.table(`“${second}” minus “${first}” on the holes that both have${isTested ? "; p is of McNemar's exact test, which needs a yes or a no at each hole" : ''}`,
        ['metric', ...['difference', ...(isTested ? [`only ${first}`, `only ${second}`, 'p'] : [])].map((name) => el('th', { scope: 'col', class: 'numeric' }, name))], metrics),
    ];
    for (const [title, sign] of /** @type {[string, number][]} */ ([[`Passes more often with “${first}”`, -1], [`Passes more often with “${second}”`, 1]])) {
      const items = pair.holes.map((/** @type {number} */ _, /** @type {number} */ index) => index)
        .filter((/** @type {number} */ index) => Math.sign(pair.rates[index][1] - pair.rates[index][0]) === sign);
      parts.push(el('h2', {}, `${title}: ${fillrate.things(items.length, 'hole')}`));
      if (items.length === 0) {
        continue;
      }
      const percent = (/** @type {number} */ index, /** @type {number} */ side) => `${number(100 * pair.rates[index][side], 0)} %`;
      const table = new LongTable(title, [
        { name: 'hole', width: 320, cell: (index) => el('a', { href: fillrate.holeAddress(holes.id[pair.holes[index]]), tabindex: '-1', title: holes.id[pair.holes[index]] }, fillrate.cuttable(fillrate.shortName(holes.id[pair.holes[index]]))), compare: (a, b) => pair.holes[a] - pair.holes[b] },
        { name: 'language', width: 120, cell: (index) => holes.language[pair.holes[index]] },
        { name: 'kind', width: 124, cell: (index) => holes.kind[pair.holes[index]] },
        { name: first, about: `Share of completions of ${first} that pass`, width: 150, early: true, numeric: true, cell: (index) => percent(index, 0), compare: (a, b) => pair.rates[a][0] - pair.rates[b][0] },
        { name: second, about: `Share of completions of ${second} that pass`, width: 150, early: true, numeric: true, cell: (index) => percent(index, 1), compare: (a, b) => pair.rates[a][1] - pair.rates[b][1] },
      ], (index) => {
        location.href = fillrate.holeAddress(holes.id[pair.holes[index]]);
      });
      table.element.classList.add('half');
      parts.push(table.element);
      tables.push([table, Uint32Array.from(items)]);
    }
    document.getElementById('pair')?.replaceChildren(...parts);
    for (const [table, items] of tables) {
      table.show(items);
    }
  }

  fillrate.page(async (summary) => {
    const main = /** @type {HTMLElement} */ (document.getElementById('main'));
    const [{ pairs }, holes] = await Promise.all([fillrate.load('flips'), fillrate.load('holes')]);
    document.getElementById('flips')?.remove();
    const place = main.appendChild(el('div', { id: 'flips' }));
    if (pairs.length === 0) {
      place.append(el('p', {}, 'Flips are between two runs, and this report is on one: name several, as in ', el('code', {}, 'fillrate report RUN RUN -o DIR'), '.'));
      performance.mark('first-view');
      return;
    }
    if (shown < 0) {
      const [first, second] = ['first', 'second'].map((name) => Number(fillrate.state().get(name)));
      shown = Math.max(0, pairs.findIndex((/** @type {any} */ pair) => pair.first === first && pair.second === second));
    }
    const choice = el('select', { id: 'pairs' }, ...pairs.map((/** @type {any} */ pair, /** @type {number} */ index) =>
      el('option', { value: index, selected: index === shown }, `${summary.runs[pair.first].name} – ${summary.runs[pair.second].name}`)));
    choice.addEventListener('change', () => {
      shown = Number(choice.value);
      fillrate.remember({ first: pairs[shown].first, second: pairs[shown].second });
      show(summary, holes, pairs[shown]);
    });
    place.append(el('p', {}, 'Holes at which two runs pass differently often.'), el('div', { class: 'controls' }, el('label', { for: 'pairs' }, 'Runs ', choice)), el('div', { id: 'pair' }));
    show(summary, holes, pairs[shown]);
    performance.mark('first-view');
  });
})();
