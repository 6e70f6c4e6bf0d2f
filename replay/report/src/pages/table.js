'use strict';
// A table of which only the rows in sight exist, so that a hundred thousand of them scroll.

/**
 * @typedef {object} Column
 * @property {string} name Its heading.
 * @property {string} [about] What it means.
 * @property {number} width In pixels; the first column takes what is left, and at least that.
 * @property {boolean} [early] True if it is next to the first column on a narrow screen.
 * @property {boolean} [numeric]
 * @property {(item: number) => (string|Node)} cell Content of a row.
 * @property {((a: number, b: number) => number)} [compare]
 */

class LongTable {
  /**
   * @param {string} caption
   * @param {Column[]} columns
   * @param {(item: number) => void} open Called when a row is chosen.
   * @param {string} [nothing] Text of a table without rows.
   */
  constructor(caption, columns, open, nothing = 'There is nothing to show.') {
    const { el } = fillrate;
    /** True where columns that say most come first. */
    this.narrow = matchMedia('(max-width: 900px)');
    /** True where columns have as little room as they can do with. */
    this.telephone = matchMedia('(max-width: 700px)');
    this.given = columns;
    this.columns = this.ordered(columns);
    this.open = open;
    this.nothing = nothing;
    /** The numbers of the items shown, in their order. @type {Uint32Array} */
    this.items = new Uint32Array(0);
    /** The row that keys act on. */
    this.active = 0;
    /** @type {number|null} */
    this.sorted = null;
    this.descending = false;
    this.rowHeight = 28;
    this.body = el('tbody');
    /** @type {HTMLElement[]} */
    this.heads = [];
    this.widths = el('colgroup');
    this.headRow = el('tr', { 'aria-rowindex': 1 });
    this.table = el(
      'table',
      { class: 'long', role: 'grid' },
      el('caption', { class: 'hidden' }, caption),
      this.widths,
      el('thead', {}, this.headRow),
      this.body,
    );
    this.sortByAddress();
    this.layOut();
    /** Key of the place to which the table is scrolled, in the history. */
    this.place = `top of ${caption}`;
    /** The place to which a page that is returned to is scrolled. */
    this.returnTo = Number(history.state?.[this.place] ?? 0);
    this.element = fillrate.withSides(el('div', { class: 'long-scroll', tabindex: '0', role: 'group', 'aria-label': `${caption}; arrow keys choose a row, Enter opens it` }, this.table));
    this.element.addEventListener('scroll', () => this.draw());
    this.element.addEventListener('keydown', (/** @type {KeyboardEvent} */ event) => this.key(event));
    this.resize = new ResizeObserver(() => this.draw());
    this.resize.observe(this.element);
    for (const size of [this.narrow, this.telephone]) {
      size.addEventListener('change', () => this.choose(this.given));
    }
    addEventListener('pagehide', () => history.replaceState({ ...history.state, [this.place]: this.element.scrollTop }, ''));
    addEventListener('beforeprint', () => this.draw(1000));
    addEventListener('afterprint', () => this.draw());
  }

  /** Sorts as the address says, by the column that it names; `-` stands for descending. */
  sortByAddress() {
    const sort = fillrate.state().get('sort') ?? '';
    this.descending = sort.startsWith('-');
    const sorted = this.columns.findIndex((column) => column.compare && column.name === sort.replace(/^-/, ''));
    this.sorted = sorted < 0 ? null : sorted;
  }

  /** Columns in the order in which the screen has room for them. @param {Column[]} columns @returns {Column[]} */
  ordered(columns) {
    if (!this.narrow.matches) {
      return columns;
    }
    const [first, ...others] = columns;
    return [first, ...others.filter((column) => column.early), ...others.filter((column) => !column.early)];
  }

  /** Shows other columns of the same items. @param {Column[]} columns */
  choose(columns) {
    const by = this.sorted === null ? undefined : this.columns[this.sorted].name;
    this.given = columns;
    this.columns = this.ordered(columns);
    const sorted = this.columns.findIndex((column) => column.name === by);
    this.sorted = sorted < 0 ? null : sorted;
    this.layOut();
    this.sort();
    this.draw();
  }

  /** Makes the head. */
  layOut() {
    const { el } = fillrate;
    this.heads = this.columns.map((column, index) => {
      const button = el('button', { type: 'button', title: column.about ?? `Sort by ${column.name}` }, column.name);
      button.addEventListener('click', () => this.sortBy(index));
      return el('th', { scope: 'col', class: column.numeric ? 'numeric' : null }, column.compare ? button : column.name);
    });
    this.headRow.replaceChildren(...this.heads);
    const width = (/** @type {Column} */ column) => this.telephone.matches ? Math.min(column.width, column === this.columns[0] ? 170 : 104) : column.width;
    const [, ...others] = this.columns.map((column) => {
      const col = el('col');
      col.style.width = `${width(column)}px`;
      return col;
    });
    this.widths.replaceChildren(el('col'), ...others);
    this.table.style.minWidth = `${this.columns.reduce((sum, column) => sum + width(column), 0)}px`;
    this.table.setAttribute('aria-colcount', String(this.columns.length));
  }

  /** Shows other items. @param {Uint32Array} items */
  show(items) {
    this.items = items;
    this.element.classList.toggle('short', items.length <= 12);
    this.active = Math.min(this.active, Math.max(0, items.length - 1));
    this.sort();
    this.table.setAttribute('aria-rowcount', String(items.length + 1));
    this.draw();
    if (this.returnTo > 0 && this.element.isConnected) {
      this.element.scrollTop = this.returnTo;
      this.returnTo = 0;
      // A table of the same name that is made later begins at its top.
      history.replaceState({ ...history.state, [this.place]: 0 }, '');
    }
  }

  /** @param {number} index */
  sortBy(index) {
    this.descending = this.sorted === index ? !this.descending : this.columns[index].numeric === true;
    this.sorted = index;
    fillrate.remember({ sort: (this.descending ? '-' : '') + this.columns[index].name });
    this.sort();
    this.active = 0;
    this.element.scrollTop = 0;
    this.draw();
  }

  sort() {
    this.heads.forEach((head, index) => {
      const direction = this.descending ? 'descending' : 'ascending';
      if (index === this.sorted) {
        head.setAttribute('aria-sort', direction);
      } else {
        head.removeAttribute('aria-sort');
      }
    });
    const compare = this.sorted === null ? undefined : this.columns[this.sorted].compare;
    if (compare) {
      const sign = this.descending ? -1 : 1;
      this.items.sort((a, b) => sign * compare(a, b) || a - b);
    }
  }

  /** Makes the rows in sight. @param {number} [atLeast] the least number of rows, from the top */
  draw(atLeast = 0) {
    const { el } = fillrate;
    const height = this.element.clientHeight || 600;
    const spare = 10;
    let from = Math.max(0, Math.floor(this.element.scrollTop / this.rowHeight) - spare);
    let to = Math.min(this.items.length, from + Math.ceil(height / this.rowHeight) + 2 * spare);
    if (atLeast > 0) {
      from = 0;
      to = Math.min(this.items.length, atLeast);
    }
    const rows = [];
    for (let at = from; at < to; at += 1) {
      const item = this.items[at];
      const row = el(
        'tr',
        { id: `row-${at}`, 'aria-rowindex': at + 2, 'aria-selected': at === this.active ? 'true' : 'false' },
        ...this.columns.map((column) => el('td', { class: column.numeric ? 'numeric' : null, role: 'gridcell' }, column.cell(item))),
      );
      row.addEventListener('click', () => {
        this.active = at;
        this.draw();
      });
      row.addEventListener('dblclick', () => this.open(item));
      rows.push(row);
    }
    // Empty rows stand for those out of sight.
    const gap = (/** @type {number} */ count) => {
      const cell = el('td', { colspan: this.columns.length });
      cell.style.height = `${count * this.rowHeight}px`;
      return el('tr', { class: 'gap', 'aria-hidden': 'true' }, cell);
    };
    const above = from > 0 ? [gap(from)] : [];
    const below = atLeast === 0 && to < this.items.length ? [gap(this.items.length - to)] : [];
    if (this.items.length === 0) {
      rows.push(el('tr', {}, el('td', { class: 'nothing', colspan: this.columns.length, role: 'gridcell' }, el('span', {}, this.nothing))));
    }
    this.body.replaceChildren(...above, ...rows, ...below);
    if (this.items.length > 0) {
      this.element.setAttribute('aria-activedescendant', `row-${this.active}`);
    } else {
      this.element.removeAttribute('aria-activedescendant');
    }
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    if (event.altKey || event.ctrlKey || event.metaKey) {
      return;
    }
    const page = Math.max(1, Math.floor(this.element.clientHeight / this.rowHeight) - 2);
    const last = this.items.length - 1;
    /** @type {Record<string, number>} */
    const steps = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -last, End: last };
    if (event.key === 'Enter' && last >= 0 && event.target === this.element) {
      this.open(this.items[this.active]);
    } else if (event.key in steps) {
      this.active = Math.max(0, Math.min(last, this.active + steps[event.key]));
      const top = this.active * this.rowHeight;
      const room = this.element.clientHeight - 2 * this.rowHeight;
      if (top < this.element.scrollTop) {
        this.element.scrollTop = top;
      } else if (top > this.element.scrollTop + room) {
        this.element.scrollTop = top - room;
      }
      this.draw();
    } else {
      return;
    }
    event.preventDefault();
  }
}
