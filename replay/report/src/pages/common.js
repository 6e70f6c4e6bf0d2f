'use strict';
// What every page shares. Text that came from people or models is only ever put into a page as
// text: nothing here or in the other scripts writes HTML.

/**
 * @typedef {{value: number, low: number|null, high: number|null, n: number, clusters?: number}} Estimate
 * @typedef {{scale: number, symbol: string, decimals: number, signed: boolean}} NumberFormat
 * @typedef {string|Node|null|undefined|false} Child
 */

const fillrate = (() => {
  /** Data that scripts passed to `put`, by name. @type {Map<string, any>} */
  const data = new Map();
  /** @type {Map<string, Promise<any>>} */
  const loading = new Map();
  /** Number of the displayed revision of a run in progress; 0 for the first data loaded. */
  let revision = 0;
  let live = false;

  /** Called by the files in `data/`. @param {string} name @param {string} text */
  function put(name, text) {
    data.set(name, JSON.parse(text));
  }

  /** Brings a file of `data/`, once. @param {string} name @returns {Promise<any>} */
  function load(name) {
    let promise = loading.get(name);
    if (!promise) {
      promise = new Promise((resolve, reject) => {
        const script = document.createElement('script');
        script.src = `data/${name}.js` + (revision > 0 ? `?revision=${revision}` : '');
        script.onload = () => {
          script.remove();
          resolve(data.get(name));
        };
        script.onerror = () => reject(new Error(`data/${name}.js can't be read`));
        document.head.append(script);
      });
      loading.set(name, promise);
    }
    return promise;
  }

  /**
   * An element. Properties are set as attributes; `on…` are listeners; strings become text.
   * @param {string} name @param {Record<string, any>} [properties] @param {...Child} children
   * @returns {any}
   */
  function el(name, properties = {}, ...children) {
    const element = document.createElement(name);
    for (const [key, value] of Object.entries(properties)) {
      if (typeof value === 'function') {
        element.addEventListener(key.slice(2), value);
      } else if (value === true) {
        element.setAttribute(key, '');
      } else if (value !== false && value !== null && value !== undefined) {
        element.setAttribute(key, String(value));
      }
    }
    for (const child of children) {
      if (child !== null && child !== undefined && child !== false) {
        element.append(child);
      }
    }
    return element;
  }

  /**
   * A number with the given number of decimal places, and a minus sign. Halves are rounded to the
   * even digit, as in the terminal.
   * @param {number} value @param {number} places
   */
  function number(value, places) {
    let text = value.toFixed(places);
    // Only these numbers end with one place more than is shown, and its digit is 5.
    const isHalf = Math.abs(value) * 2 ** (places + 1) % 2 === 1;
    // `toFixed` rounds halves up.
    if (isHalf && Number(text.at(-1)) % 2 === 1) {
      text = (value - Math.sign(value) * 10 ** -places / 4).toFixed(places);
    }
    return (Number(text) === 0 ? text.replace('-', '') : text).replace('-', '−');
  }

  /** @param {number} count */
  function count(count) {
    return count.toLocaleString('en');
  }

  /** A number of things, with their name in the singular or the plural. @param {number} amount @param {string} one @param {string} [several] */
  function things(amount, one, several = `${one}s`) {
    return `${count(amount)} ${amount === 1 ? one : several}`;
  }

  /** Prose that leaves no % at the beginning of a line. @param {string} text */
  function unbroken(text) {
    return text.replaceAll(' %', '\u00a0%');
  }

  /** A name of a file or hole that breaks between its parts. @param {string} name @returns {(string|Node)[]} */
  function breakable(name) {
    return name.split(/(?<=[/_:])/).flatMap((part, index) => index === 0 ? [part] : [el('wbr'), part]);
  }

  /**
   * A figure's parts as text.
   * @param {Estimate} estimate @param {NumberFormat} unit
   */
  function figure(estimate, unit) {
    const text = (/** @type {number} */ value) => {
      const digits = number(value * unit.scale, unit.decimals);
      return unit.signed && /^[0-9.]*[1-9]/.test(digits) ? `+${digits}` : digits;
    };
    const bound = (/** @type {number|null} */ value) => (value === null ? '?' : text(value));
    return {
      value: text(estimate.value),
      interval: `[${bound(estimate.low)}, ${bound(estimate.high)}]`,
      n: `n ${count(estimate.n)}${estimate.clusters ? ` in ${count(estimate.clusters)}` : ''}`,
    };
  }

  /** A table's cell with a figure. @param {Estimate|null|undefined} estimate @param {NumberFormat} unit */
  function figureCell(estimate, unit) {
    if (!estimate) {
      return el('td', { class: 'figure' }, el('span', { class: 'none' }, '–'));
    }
    const parts = figure(estimate, unit);
    return el(
      'td',
      { class: 'figure' },
      el('b', {}, parts.value),
      ' ',
      el('span', { class: 'interval' }, parts.interval),
      ' ',
      el('span', { class: 'n' }, parts.n),
    );
  }

  /** The address of a hole's page. @param {string} id @param {Record<string, any>} [attempt] */
  function holeAddress(id, attempt) {
    if (!attempt) {
      return `hole.html#${encodeURIComponent(id)}`;
    }
    const { run, sample, round } = attempt;
    return `hole.html#hole=${encodeURIComponent(id)}&run=${run}&sample=${sample}&round=${round}`;
  }

  /** A hole's id without what only distinguishes it from others at the same place. @param {string} id */
  function shortName(id) {
    return id.replace(/:[a-z]+:[0-9a-f]{8}$/, '');
  }

  /** An outcome for people: `empty` where it failed because nothing was offered. @param {string} outcome @param {boolean} isOffered @returns {{text: string, about: string|null}} */
  function outcomeText(outcome, isOffered) {
    return isOffered || !['failed', 'syntax'].includes(outcome) ? { text: outcome, about: null } : { text: 'empty', about: `Nothing was offered; outcome of the empty hole: ${outcome}` };
  }

  /** The address of a file with its holes marked. @param {string} name its project and path */
  function fileAddress(name) {
    return `files.html#file=${encodeURIComponent(name)}`;
  }

  /** The name of a file or hole. Where there is no room its beginning is cut, and never the line. @param {string} name */
  function cuttable(name) {
    const [, folders, file] = /** @type {RegExpExecArray} */ (/^(.*\/)?([^/]*)$/s.exec(name));
    return el('span', { class: 'cuttable' }, el('bdi', {}, folders && el('span', { class: 'folders' }, folders), el('span', { class: 'name' }, file)));
  }

  /** Scrolls a box, and not the page, to a part of it. @param {HTMLElement} box @param {HTMLElement|null} part */
  function bringIntoView(box, part) {
    if (part) {
      box.scrollTop = Math.max(0, part.offsetTop - box.clientHeight / 3);
      const end = part.offsetLeft + part.offsetWidth;
      box.scrollLeft = end <= box.clientWidth ? 0 : Math.max(0, Math.min(part.offsetLeft - box.clientWidth / 4, end));
    }
  }

  /** A piece of source in the colour of its syntax. @param {[string, string]} piece class and text @returns {string|Node} */
  function piece([kind, text]) {
    return kind === '' ? text : el('span', { class: `syntax-${kind}` }, text);
  }

  /** Marks the sides of a box to which it can be scrolled, now and whenever that changes. @template {HTMLElement} T @param {T} box @returns {T} */
  function withSides(box) {
    const mark = () => {
      box.classList.toggle('more-left', box.scrollLeft > 1);
      box.classList.toggle('more-right', box.scrollLeft + box.clientWidth < box.scrollWidth - 1);
    };
    box.addEventListener('scroll', mark);
    // What is in it may change its width, too.
    const sizes = new ResizeObserver(mark);
    for (const one of [box, ...box.children]) {
      sizes.observe(one);
    }
    return box;
  }

  /**
   * A table that scrolls by itself. One of texts alone is stacked on a narrow screen: there, each
   * cell is below the one before it and names its column.
   * @param {string} caption @param {Child[]} head @param {Child[]} rows
   */
  function table(caption, head, rows) {
    const stacked = head.length > 1 && head.every((cell) => typeof cell === 'string');
    if (stacked) {
      for (const row of rows) {
        [.../** @type {HTMLTableRowElement} */ (row).cells].forEach((cell, index) => {
          if (index > 0 && head.length > 2) {
            cell.dataset.name = String(head[index]);
          }
        });
      }
    }
    return withSides(el(
      'div',
      { class: 'scroll', tabindex: '0', role: 'group', 'aria-label': caption },
      el(
        'table',
        { class: stacked ? 'stacked' : null },
        el('caption', {}, el('span', {}, caption)),
        el('thead', {}, el('tr', {}, ...head.map((cell) => typeof cell === 'string' ? el('th', { scope: 'col' }, cell) : cell))),
        el('tbody', {}, ...rows),
      ),
    ));
  }

  /** @param {Child} name @param {...Child} cells */
  function row(name, ...cells) {
    return el('tr', {}, el('th', { scope: 'row' }, name), ...cells.map((cell) =>
      cell instanceof HTMLTableCellElement ? cell : el('td', {}, cell)));
  }

  /** Text in a box, with a button that copies it. @param {string} text @param {string} label its name, other than that of any other box */
  function code(text, label) {
    const box = el('pre', { class: 'code', tabindex: '0', role: 'region', 'aria-label': label }, text);
    const button = el('button', { type: 'button', class: 'copy', 'aria-label': `Copy: ${label}`, onclick: () => {
      copy(text, box);
      button.textContent = 'Copied';
      setTimeout(() => { button.textContent = 'Copy'; }, 1500);
    } }, 'Copy');
    return el('div', { class: 'copied' }, button, box);
  }

  /** Puts a text into the clipboard. @param {string} text @param {Element} box where it is */
  function copy(text, box) {
    // A page from the disk may have no clipboard of the newer kind.
    const old = () => {
      getSelection()?.selectAllChildren(box);
      document.execCommand('copy');
      getSelection()?.removeAllRanges();
    };
    if (navigator.clipboard) {
      navigator.clipboard.writeText(text).catch(old);
    } else {
      old();
    }
  }

  /** A cell of CSV, which no spreadsheet takes for a formula. @param {string|number} value */
  function csvCell(value) {
    const text = String(value);
    const plain = typeof value === 'string' && /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
    return /[",\r\n]/.test(plain) ? `"${plain.replaceAll('"', '""')}"` : plain;
  }

  /** A button that saves rows as CSV. @param {string} name @param {() => (string|number)[][]} rows */
  function csvButton(name, rows) {
    return el('button', { type: 'button', onclick: () => {
      const text = rows().map((row) => `${row.map(csvCell).join(',')}\r\n`).join('');
      const address = URL.createObjectURL(new Blob([text], { type: 'text/csv' }));
      el('a', { href: address, download: name }).click();
      setTimeout(() => URL.revokeObjectURL(address), 60_000);
    } }, 'Save as CSV');
  }

  const root = document.documentElement;
  const system = matchMedia('(prefers-color-scheme: dark)');
  /** Light or dark, where somebody chose. @type {string|null} */
  let chosen = null;
  try {
    chosen = localStorage.getItem('fillrate-theme');
  } catch {
    // A page from the disk may have no storage.
  }
  const isDark = () => chosen ? chosen === 'dark' : system.matches;
  // At once, so that nothing is ever drawn in the other colours.
  root.dataset.theme = isDark() ? 'dark' : 'light';

  /** Light or dark: as the system has it, until somebody chooses. */
  function theme() {
    const button = /** @type {HTMLButtonElement} */ (document.getElementById('theme'));
    const apply = () => {
      const dark = isDark();
      root.dataset.theme = dark ? 'dark' : 'light';
      button.textContent = dark ? 'Light' : 'Dark';
      button.setAttribute('aria-label', dark ? 'Show in light colours' : 'Show in dark colours');
    };
    button.addEventListener('click', () => {
      chosen = root.dataset.theme === 'dark' ? 'light' : 'dark';
      try {
        localStorage.setItem('fillrate-theme', chosen);
      } catch {
        // Then the choice holds for this page alone.
      }
      apply();
    });
    system.addEventListener('change', apply);
    apply();
  }

  /** @param {{done: number, of: number|null, finished: boolean}} progress */
  function report(progress) {
    const place = document.getElementById('progress');
    if (!place) {
      return;
    }
    const done = count(progress.done);
    const all = progress.of === null ? '' : ` of ${count(progress.of)}`;
    const text = progress.finished
      ? `${done} attempts`
      : `${done}${all} attempts${live ? ', going on' : ', not finished'}`;
    place.replaceChildren(text);
    if (!progress.finished && progress.of) {
      place.append(' ', el('progress', { max: progress.of, value: progress.done, 'aria-label': 'attempts made' }));
    }
  }

  /**
   * Draws a page, and draws it anew when a run that goes on has got further.
   * @param {(summary: any) => Promise<void>|void} draw
   */
  function page(draw) {
    const main = /** @type {HTMLElement} */ (document.getElementById('main'));
    const show = async () => {
      try {
        const summary = await load('summary');
        live = summary.live;
        report(summary.progress);
        await draw(summary);
        document.getElementById('waiting')?.remove();
      } catch (error) {
        const text = error instanceof Error ? error.message : String(error);
        main.append(el('p', { class: 'fault', role: 'alert' }, `This page can't be shown: ${text}.`));
      }
      main.setAttribute('aria-busy', 'false');
    };
    const follow = async () => {
      try {
        const answer = await fetch('progress.json', { cache: 'no-store' });
        const progress = await answer.json();
        report(progress);
        const shown = data.get('summary')?.progress.revision ?? 0;
        if (progress.revision !== shown) {
          revision = progress.revision;
          loading.clear();
          await show();
        }
        if (progress.finished) {
          return;
        }
      } catch {
        document.getElementById('progress')?.replaceChildren('the report has been stopped');
        return;
      }
      setTimeout(follow, 2000);
    };
    theme();
    // The part after # says what a page shows, so that the way to the content must not change it.
    document.querySelector('.skip')?.addEventListener('click', (event) => {
      event.preventDefault();
      main.focus();
    });
    void show().then(() => {
      if (live) {
        void follow();
      }
    });
  }

  /** Returns the parameters of the address after `#`. */
  function state() {
    return new URLSearchParams(location.hash.slice(1));
  }

  /**
   * Returns the values of filters, in the form of the part of an address after `#`.
   * @param {Map<string, HTMLSelectElement>} selects @param {HTMLInputElement} search
   */
  function filterState(selects, search) {
    const filters = new URLSearchParams();
    for (const [name, select] of selects) {
      if (select.value !== '') {
        filters.set(name, select.value);
      }
    }
    if (search.value !== '') {
      filters.set('search', search.value);
    }
    // A table keeps its order beside them.
    const sort = state().get('sort');
    if (sort !== null) {
      filters.set('sort', sort);
    }
    return filters;
  }

  /** Puts values into the address, without an entry of the history. @param {Record<string, string|number|null>} values those that are null or '' are removed */
  function remember(values) {
    const now = state();
    for (const [name, value] of Object.entries(values)) {
      if (value === null || value === '') {
        now.delete(name);
      } else {
        now.set(name, String(value));
      }
    }
    history.replaceState(history.state, '', `#${now}`);
  }

  /** Returns the metric of a name, if the report has it. @param {any} summary @param {string} name */
  function metricNamed(summary, name) {
    return summary.metrics.find((/** @type {any} */ metric) => metric.name === name);
  }

  /** Returns a metric's name for people, or the name itself. @param {any} summary @param {string} name */
  function titleOf(summary, name) {
    return metricNamed(summary, name)?.title ?? name;
  }

  /** The words of a search, in small letters. @param {HTMLInputElement} search */
  function words(search) {
    return search.value.toLowerCase().split(/\s+/).filter((word) => word !== '');
  }

  /** Lets the key `/` go to the search. @param {HTMLInputElement} search */
  function searchBySlash(search) {
    addEventListener('keydown', (event) => {
      if (event.key === '/' && document.activeElement === document.body) {
        search.focus();
        event.preventDefault();
      }
    });
  }

  return { put, load, el, number, count, figure, figureCell, holeAddress, fileAddress, outcomeText, shortName, cuttable, breakable, things, unbroken, bringIntoView, piece, code, csvButton, table, withSides, row, page, state, remember, filterState, metricNamed, titleOf, words, searchBySlash };
})();
