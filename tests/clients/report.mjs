// Looks at a report in a real browser, and prints what it saw as one JSON object.
// Arguments: the browser, the folder with playwright-core, what to do, the report's address (with
// a slash at its end), and a folder for pictures.

import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';

const [browserPath, packages, task, address, pictures] = process.argv.slice(2);
const require = createRequire(join(packages, 'package.json'));
const { chromium } = require('playwright-core');
const axe = readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8');

const browser = await chromium.launch({
  executablePath: browserPath,
  args: ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage'],
});

/** Everything that went wrong or was asked of the network, on any page. */
const seen = { complaints: [], dialogs: 0, foreign: [] };

async function open(scheme = 'light', width = 1400) {
  const context = await browser.newContext({
    colorScheme: scheme,
    viewport: { width, height: 900 },
  });
  const page = await context.newPage();
  page.setDefaultTimeout(120_000);
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type())) {
      seen.complaints.push(`${page.url()}: ${message.text()}`);
    }
  });
  page.on('pageerror', (error) => seen.complaints.push(`${page.url()}: ${error}`));
  page.on('dialog', (dialog) => {
    seen.dialogs += 1;
    void dialog.dismiss();
  });
  page.on('request', (request) => {
    if (!request.url().startsWith(address) && !request.url().startsWith('data:')) {
      seen.foreign.push(request.url());
    }
  });
  return page;
}

/** Opens a page and waits until it shows something. Gives the milliseconds until it did. */
async function visit(page, path) {
  await page.goto('about:blank');
  await page.goto(address + path);
  const shown = () => performance.getEntriesByName('first-view')[0]?.startTime;
  await page.waitForFunction(shown);
  return page.evaluate(shown);
}

/** Collects properties that matter to people who can't see the page as it is drawn. */
function accessible() {
  const name = (element) => element.getAttribute('aria-label') || element.textContent.trim();
  const all = (selector) => [...document.querySelectorAll(selector)];
  return {
    language: document.documentElement.lang,
    heading: document.querySelector('h1')?.textContent,
    tables: all('table').length,
    tablesWithoutCaption: all('table').filter((table) => !table.caption?.textContent).length,
    headsWithoutScope: all('th:not([scope])').length,
    namelessControls: all('button, a, [role=region], [role=group], [role=img]').filter((element) => !name(element)).length,
    inputsWithoutLabel: all('input, select').filter((input) => input.labels.length === 0).length,
    scrollsWithoutFocus: all('.scroll, .long-scroll, .source, pre.code').filter((box) => box.tabIndex !== 0).length,
    busy: document.querySelector('main')?.getAttribute('aria-busy'),
  };
}

/** Returns axe-core's violations in a part of a page: each rule with the elements that break it. */
async function violations(page, part = 'html') {
  // As its own source, which a page's policy doesn't hold back as it would a script.
  await page.evaluate(axe);
  return page.evaluate(async (part) => {
    const { violations } = await globalThis.axe.run(part, { resultTypes: ['violations'], preload: false });
    return violations.map(({ id, nodes }) => `${id}: ${nodes.slice(0, 3).map((node) => `${node.target} ${node.any[0]?.message ?? ''}`).join('; ')}`);
  }, part);
}

/** Opens every page in both colours. */
async function pages() {
  const found = {};
  const page = await open();
  await visit(page, 'attempts.html');
  const hole = await page.locator('table.long tbody a').first().getAttribute('href');
  await visit(page, 'files.html');
  const file = await page.locator('table.long tbody a').first().getAttribute('href');
  const paths = { index: 'index.html', plots: 'plots.html', matrix: 'matrix.html', attempts: 'attempts.html', files: 'files.html', file, flips: 'flips.html', runs: 'runs.html', hole };
  await page.context().close();
  for (const scheme of ['light', 'dark']) {
    const page = await open(scheme);
    for (const [name, path] of Object.entries(paths)) {
      await visit(page, path);
      await page.screenshot({ path: join(pictures, `${name}-${scheme}.png`), fullPage: name !== 'attempts' });
      found[`${name} ${scheme}`] = {
        ...(await page.evaluate(accessible)),
        ground: await page.evaluate(() => getComputedStyle(document.body).backgroundColor),
        text: await page.locator('main').innerText(),
        axe: await violations(page),
      };
    }
    await page.context().close();
    const telephone = await open(scheme, 400);
    for (const [name, path] of Object.entries(paths)) {
      await visit(telephone, path);
      await telephone.screenshot({ path: join(pictures, `${name}-${scheme}-400.png`) });
      found[`${name} ${scheme}`].beyond = await telephone.evaluate(beyond);
      found[`${name} ${scheme}`].telephone = await telephone.evaluate(legible);
      found[`${name} ${scheme}`].axe.push(...(await violations(telephone)));
    }
    await telephone.context().close();
  }
  return { pages: found, hole };
}

/** Returns the width by which a page exceeds its window, in pixels. */
function beyond() {
  return document.documentElement.scrollWidth - document.documentElement.clientWidth;
}

/** Measures a page's legibility without scrolling sideways, in pixels; `null` for absent parts. */
function legible() {
  const boxes = (selector) => [...document.querySelectorAll(selector)]
    .map((element) => element.getBoundingClientRect()).filter((box) => box.width > 0);
  const least = (numbers) => (numbers.length > 0 ? Math.min(...numbers) : null);
  const wide = [...document.querySelectorAll('.scroll, .long-scroll')]
    .filter((box) => box.scrollLeft + box.clientWidth < box.scrollWidth - 1);
  return {
    letters: least([...document.querySelectorAll('svg text')]
      .filter((text) => text.getBoundingClientRect().width > 0).map((text) => {
        const { a, b } = text.getScreenCTM();
        return Math.hypot(a, b) * Number.parseFloat(getComputedStyle(text).fontSize);
      })),
    values: least(boxes('dl.facts dd').map((box) => box.width)),
    wide: wide.length,
    marked: [...document.querySelectorAll('.more-right')].filter((box) => wide.includes(box)).length,
    outcome: least(boxes('table.long tbody .outcome').map((box) => box.right)),
    first: least(boxes('#figures tbody .figure').map((box) => box.right)),
    row: -(least(boxes('.scroll tbody tr').map((box) => -box.height)) ?? 0),
  };
}

/** Asks a report and a study beside it what people ask, counting clicks from the first page. */
async function questions() {
  const page = await open();
  await visit(page, 'report/index.html');
  const best = await page.locator('tr:has(.best) th').innerText();
  const answer = await page.locator('#answer').innerText();
  await page.screenshot({ path: join(pictures, 'questions.png') });
  const click = async (link) => {
    await link.click();
    await page.waitForFunction(() => performance.getEntriesByName('first-view').length > 0);
    return page.locator('main').innerText();
  };
  const flips = await click(page.getByRole('link', { name: 'Where they differ' }));
  const hole = await click(page.locator('table.long tbody a').first());
  await page.goto(`${address}study/index.html`);
  const trust = await page.locator('.badge').innerText();
  return { best, answer, flips, hole, trust };
}

/** Looks at a page of its own at some widths, in both colours, for more than what is asked of all. */
async function screens(name, widths, more) {
  const found = {};
  for (const width of widths) {
    for (const scheme of ['light', 'dark']) {
      const page = await open(scheme, width);
      await page.goto(`${address}index.html`);
      await page.screenshot({ path: join(pictures, `${name}-${scheme}-${width}.png`) });
      found[`${width} ${scheme}`] = {
        ...(await page.evaluate(accessible)),
        beyond: await page.evaluate(beyond),
        ...(await more(page)),
      };
      await page.context().close();
    }
  }
  return { screens: found };
}

/** Looks at a study's first screen. */
async function study() {
  return screens('study', [1400, 400], async (page) => ({
    height: await page.evaluate(() => document.documentElement.scrollHeight),
    painted: await page.evaluate(() => performance.getEntriesByName('first-contentful-paint')[0].startTime),
    firstScreen: await page.evaluate(() => [...document.querySelectorAll('.badge, .answer, .next, .decision svg')]
      .map((element) => element.getBoundingClientRect()).filter((box) => box.height > 0 && box.bottom <= innerHeight).length),
    folded: await page.locator('details:not([open])').count(),
    sections: await page.locator('main > details').count(),
    letters: (await page.evaluate(legible)).letters,
    scrolled: await page.evaluate(() => [...document.querySelectorAll('figure, figure div')].filter((box) => box.scrollWidth > box.clientWidth + 1).length),
    axe: await violations(page, '.decision'),
  }));
}

/** Looks at telemetry's statistics. */
async function acceptance() {
  return screens('acceptance', [1400, 768, 400], async (page) => ({
    text: await page.locator('main').innerText(),
    axe: await violations(page),
  }));
}

/** Uses the first page as a person would. */
async function overview() {
  const page = await open();
  await visit(page, 'index.html');
  const rows = () => page.locator('#figures tbody tr').count();
  const together = await rows();
  await page.getByLabel('by kind').check();
  const byKind = await rows();
  const head = page.locator('th[data-sort="pass@1"]');
  const values = async () => page.evaluate(() => {
    const column = [...document.querySelectorAll('#figures thead th')].findIndex((th) => th.dataset.sort === 'pass@1');
    return [...document.querySelectorAll('#figures tbody tr')].map((row) => row.children[column].querySelector('b')?.textContent ?? null).filter((text) => text !== null).map(Number);
  });
  await head.locator('button').click();
  const descending = { values: await values(), sort: await head.getAttribute('aria-sort') };
  await head.locator('button').press('Enter');
  const ascending = { values: await values(), sort: await head.getAttribute('aria-sort') };
  const ground = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const light = await ground();
  await page.locator('#theme').click();
  const dark = await ground();
  await visit(page, 'plots.html');
  const kept = await ground();
  await page.reload();
  await page.keyboard.press('Tab');
  const firstStop = await page.evaluate(() => document.activeElement.textContent);
  await page.emulateMedia({ media: 'print' });
  const printed = { ground: await ground(), header: await page.locator('header').isVisible() };
  await page.emulateMedia({ media: 'screen' });
  const point = page.locator('#acceptance svg.wide a.point').first();
  const figures = await point.locator('title').textContent();
  await point.click();
  await page.waitForURL('**/attempts.html#*');
  const behind = await page.evaluate(() => location.hash);
  return { together, byKind, descending, ascending, light, dark, kept, firstStop, printed, figures, behind };
}

/** Finds in the matrix the holes that only the first run solves, opens one, and comes back. */
async function matrix() {
  const page = await open();
  await visit(page, 'matrix.html');
  const found = () => page.locator('#found').innerText();
  const all = await found();
  await page.locator('#filter-run-0').selectOption('passes');
  await page.locator('#filter-run-1').selectOption('fails');
  const only = await found();
  const address = await page.evaluate(() => location.hash);
  const cells = await page.locator('table.long tbody tr[id]').first().locator('.outcome').allInnerTexts();
  const saving = page.waitForEvent('download');
  await page.getByRole('button', { name: 'Save as CSV' }).click();
  const saved = readFileSync(await (await saving).path(), 'utf8');
  await page.locator('table.long tbody tr[id]').first().locator('.outcome').last().click();
  await page.waitForFunction(() => document.querySelectorAll('details.attempt').length > 0);
  const opened = await page.locator('details.attempt').count();
  const tops = await page.locator('details.attempt[open]').evaluateAll((all) => all.map((one) => one.getBoundingClientRect().top));
  const copy = await page.locator('button.copy').count();
  const texts = await page.locator('details.attempt[open]').allInnerTexts();
  await page.goBack();
  await page.waitForFunction(() => document.getElementById('found')?.textContent.includes('holes'));
  const back = await found();
  await page.goBack();
  await page.waitForFunction((before) => document.getElementById('found').textContent !== before, back);
  const before = await found();
  await page.locator('#filter-run-0').selectOption('unproven');
  const unproven = await found();
  await page.getByRole('button', { name: 'kind', exact: true }).click();
  const sorted = await page.locator('th[aria-sort]').innerText();
  await page.goBack();
  await page.waitForFunction((before) => document.getElementById('found').textContent === before, before);
  const unsorted = await page.locator('th[aria-sort]').count();
  await page.locator('#filter-run-0').selectOption('');
  const patterns = [];
  for (const pattern of ['differ', 'agree']) {
    await page.locator('#filter-pattern').selectOption(pattern);
    patterns.push(await found());
  }
  await visit(page, 'attempts.html#outcome=empty');
  const empty = await page.locator('table.long tbody tr[id] .outcome').allInnerTexts();
  return { all, only, address, cells, saved, opened, tops, copy, texts, back, before, unproven, sorted, unsorted, patterns, empty };
}

/** Uses the table of attempts as a person would. */
async function attempts() {
  const page = await open();
  const start = Date.now();
  const firstView = await visit(page, 'attempts.html');
  const untilSeen = Date.now() - start;
  const rowsAtFirst = await page.locator('table.long tbody tr[id]').count();
  await page.waitForFunction(() => performance.getEntriesByName('all-read').length > 0);
  const allRead = await page.evaluate(() => performance.getEntriesByName('all-read')[0].startTime);
  const found = () => page.locator('#found').innerText();
  const everything = await found();
  const rowCount = await page.locator('table.long').getAttribute('aria-rowcount');
  const inPage = () => page.locator('table.long tbody tr[id]').count();
  const firstHole = await page.locator('table.long tbody a').first().innerText();

  await page.locator('#filter-outcome').selectOption('passed');
  const passed = await found();
  const outcomes = await page.evaluate(() => [...new Set([...document.querySelectorAll('table.long tbody .outcome')].map((one) => one.textContent))]);
  await page.locator('#search').fill(firstHole.split(':')[0]);
  await page.waitForFunction((before) => document.getElementById('found').textContent !== before, passed);
  const searched = await found();
  const bookmark = await page.evaluate(() => location.hash);
  await page.getByRole('button', { name: 'Clear' }).click();
  const cleared = await found();

  await page.locator('#in-texts').check();
  await page.locator('#search').fill('needle');
  // The search starts a moment after the last key, and goes on while texts are being read.
  await page.waitForFunction((cleared) => {
    const found = document.getElementById('found').textContent;
    return found !== cleared && !found.includes('being read') && !found.startsWith('0 of');
  }, cleared);
  const needle = await found();
  await page.getByRole('button', { name: 'Clear' }).click();
  await page.locator('#search').fill('chars<12');
  await page.waitForFunction((cleared) => document.getElementById('found').textContent !== cleared, cleared);
  const short = await found();
  await page.getByRole('button', { name: 'Clear' }).click();
  await page.locator('#search').fill('no-such-hole');
  await page.waitForFunction(() => document.getElementById('found').textContent.startsWith('0 of'));
  const nothing = await page.locator('table.long tbody').innerText();
  await page.getByRole('button', { name: 'Clear' }).click();
  const heads = () => page.locator('table.long thead th').allInnerTexts();
  await page.locator('#columns summary').click();
  await page.getByLabel('chars', { exact: true }).uncheck();
  const fewer = { heads: await heads(), address: await page.evaluate(() => location.hash), cells: await page.locator('table.long tbody tr[id]').first().locator('td').count() };
  await page.getByLabel('chars', { exact: true }).check();
  await page.locator('#columns summary').click();
  const middle = () => page.evaluate(() => {
    const link = document.querySelector('table.long tbody a');
    const cell = link.closest('td').getBoundingClientRect();
    const end = document.createRange();
    end.selectNodeContents(link.querySelector('.name'));
    const { left, right } = end.getBoundingClientRect();
    const name = link.querySelector('.cuttable');
    return { text: link.innerText, all: link.textContent, needed: name.scrollWidth, shown: name.clientWidth, inside: cell.left <= left && right <= cell.right };
  });
  await page.setViewportSize({ width: 760, height: 900 });
  const cut = await middle();
  await page.setViewportSize({ width: 700, height: 900 });
  // The table is laid out anew when the width changes.
  await page.waitForFunction(() => getComputedStyle(document.querySelector('table.long tbody .folders')).display === 'none');
  await page.waitForFunction(() => document.querySelector('table.long thead th').getBoundingClientRect().width < 200);
  const telephone = await middle();
  await page.setViewportSize({ width: 1400, height: 900 });

  const before = Date.now();
  await page.getByRole('button', { name: 'ms', exact: true }).click();
  const sorting = Date.now() - before;
  const sorted = await page.evaluate(() => [...document.querySelectorAll('table.long tbody tr[id]')].map((row) => Number(row.children[9].textContent)));
  const scroll = page.locator('.long-scroll');
  await scroll.focus();
  await page.keyboard.press('End');
  const last = await page.locator('tr[aria-selected=true]').getAttribute('aria-rowindex');
  const atEnd = await inPage();
  await page.keyboard.press('Home');
  await page.keyboard.press('ArrowDown');
  const second = await page.locator('tr[aria-selected=true]').getAttribute('aria-rowindex');
  await page.screenshot({ path: join(pictures, 'attempts-many.png') });
  const address = await page.locator('tr[aria-selected=true] a').getAttribute('href');
  await page.keyboard.press('Enter');
  await page.waitForFunction(() => location.pathname.endsWith('hole.html') && performance.getEntriesByName('first-view').length > 0);
  const opened = await page.locator('h1').innerText();
  const openAttempts = await page.locator('details.attempt[open]').count();
  return { firstView, untilSeen, rowsAtFirst, allRead, everything, rowCount, firstHole, passed, outcomes, searched, bookmark, cleared, needle, short, nothing, fewer, cut, telephone, sorting, sorted, last, atEnd, second, address, opened, openAttempts };
}

/** Looks at a file with its holes marked, as all runs and as one have them. */
async function files() {
  const page = await open();
  await visit(page, 'files.html');
  const listed = await page.locator('table.long tbody tr[id]').count();
  await page.locator('table.long tbody a').first().click();
  await page.locator('.source.whole').waitFor();
  const heading = await page.locator('h1').innerText();
  const text = await page.locator('.source.whole pre').last().innerText();
  const holes = () => page.evaluate(() => [...document.querySelectorAll('.source.whole a.hole')].map((hole) => [hole.className, hole.textContent]));
  const all = await holes();
  await page.locator('#file-run').selectOption('1');
  const second = await holes();
  const keywords = await page.locator('.source.whole .syntax-k').allInnerTexts();
  await page.locator('.source.whole a.hole').first().click();
  await page.waitForFunction(() => location.pathname.endsWith('hole.html') && performance.getEntriesByName('first-view').length > 0);
  const opened = await page.locator('h1').innerText();
  const marked = await page.locator('#the-hole').innerText();
  await page.getByRole('link', { name: 'All holes of the file' }).click();
  await page.locator('.source.whole').waitFor();
  return { listed, heading, text, all, second, keywords, opened, marked, back: await page.locator('h1').innerText() };
}

/** Opens each page of a report in which everything that may be hostile is. */
async function hostile() {
  const page = await open();
  const texts = {};
  for (const path of ['index.html', 'plots.html', 'matrix.html', 'attempts.html', 'files.html', 'flips.html', 'runs.html']) {
    await visit(page, path);
    texts[path] = await page.locator('main').innerText();
  }
  await visit(page, 'attempts.html');
  const hole = await page.locator('table.long tbody a').first().getAttribute('href');
  await visit(page, hole);
  await page.evaluate(() => {
    for (const details of document.querySelectorAll('details')) {
      details.open = true;
    }
  });
  await page.waitForTimeout(200);
  await page.evaluate(() => {
    for (const details of document.querySelectorAll('details')) {
      details.open = true;
    }
  });
  texts.hole = await page.locator('main').innerText();
  const heading = await page.locator('h1').innerText();
  const scripts = await page.evaluate(() => [...document.scripts].map((script) => script.getAttribute('src')));
  const images = await page.locator('main img, main iframe, main script').count();
  // What a page may run is held by its policy, too: a script in it does not.
  const complaints = seen.complaints.length;
  const ran = await page.evaluate(() => {
    const script = document.createElement('script');
    script.textContent = 'globalThis.ran = true';
    document.body.append(script);
    return globalThis.ran === true;
  });
  const refused = seen.complaints.splice(complaints).length;
  return { texts, heading, scripts, images, ran, refused };
}

/** Follows a run that goes on. Standard input says when there is more to see. */
async function live() {
  const page = await open();
  await visit(page, 'index.html');
  const before = (await page.locator('#progress').innerText()).trim();
  const rows = await page.locator('#figures').innerText();
  process.stderr.write('seen\n');
  await page.waitForFunction(() => document.getElementById('progress').textContent.startsWith('6 of'));
  await page.waitForFunction((text) => document.getElementById('figures').innerText !== text, rows);
  const after = (await page.locator('#progress').innerText()).trim();
  for (const path of ['plots.html', 'attempts.html', 'flips.html', 'runs.html']) {
    await visit(page, path);
  }
  await visit(page, 'attempts.html');
  const hole = await page.locator('table.long tbody a').first().getAttribute('href');
  await visit(page, hole);
  return { before, after, hole: await page.locator('h1').innerText() };
}

/** Reads a log in Inspect's viewer, the address's. What that complains of is not ours. */
async function inspect() {
  const page = await open();
  const end = Date.now() + 120_000;
  // It listens some seconds after its start.
  for (let listens = false; !listens; ) {
    listens = await page.goto(address).then(() => true, (error) => {
      if (Date.now() > end) throw error;
      return new Promise((resolve) => setTimeout(() => resolve(false), 200));
    });
  }
  await page.getByText('total_0 = a + 1').first().waitFor();
  const text = await page.locator('body').innerText();
  await page.screenshot({ path: join(pictures, 'inspect.png') });
  seen.complaints.length = 0;
  return { text };
}

/** Watches telemetry's statistics until they change, and until nobody serves them. */
async function watch() {
  const page = await open();
  await page.goto(address);
  const text = () => page.locator('main').innerText();
  const before = await text();
  process.stderr.write('seen\n');
  await page.waitForFunction((before) => document.querySelector('main').innerText !== before, before);
  const after = await text();
  process.stderr.write('changed\n');
  await page.locator('[role=status]').waitFor();
  // A browser complains of a server that is gone.
  seen.complaints.length = 0;
  return { before, after, last: await text() };
}

const tasks = { acceptance, watch, pages, matrix, overview, questions, study, attempts, files, hostile, live, inspect };
try {
  const found = await tasks[task]();
  process.stdout.write(JSON.stringify({ ...found, ...seen }));
} finally {
  await browser.close();
}
