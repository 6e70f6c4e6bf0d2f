// Shows a page's statistics as they are now.
'use strict';
{
  const followEvery = 2000;
  const note = document.createElement('p');
  note.setAttribute('role', 'status');
  /** Says why the figures are the last ones, or nothing. */
  const say = (text) => {
    note.textContent = text;
    if (text === '') {
      note.remove();
    } else {
      document.querySelector('h1').after(note);
    }
  };
  const follow = async () => {
    try {
      const answer = await fetch('index.html', { cache: 'no-store' });
      const text = await answer.text();
      if (answer.ok) {
        say('');
        const now = new DOMParser().parseFromString(text, 'text/html');
        const shown = document.querySelector('main');
        // Left alone while nothing changes, so that a reader keeps the focus and the selection.
        if (!now.querySelector('main').isEqualNode(shown)) {
          shown.replaceWith(document.adoptNode(now.querySelector('main')));
          document.title = now.title;
        }
      } else {
        say(`These are the last figures: ${text}`);
      }
    } catch {
      say('These are the last figures: fillrate was stopped.');
    }
    setTimeout(follow, followEvery);
  };
  setTimeout(follow, followEvery);
}
