// Shows a page's statistics as they are now.
'use strict';
{
  const followEvery = 2000;
  const follow = async () => {
    try {
      const answer = await fetch('index.html', { cache: 'no-store' });
      const text = await answer.text();
      if (!answer.ok) {
        throw new Error(text);
      }
      const now = new DOMParser().parseFromString(text, 'text/html');
      const shown = document.querySelector('main');
      // Left alone while nothing changes, so that a reader keeps the focus and the selection.
      if (!now.querySelector('main').isEqualNode(shown)) {
        shown.replaceWith(document.adoptNode(now.querySelector('main')));
        document.title = now.title;
      }
      setTimeout(follow, followEvery);
    } catch {
      const note = document.createElement('p');
      note.setAttribute('role', 'status');
      note.textContent = 'These are the last figures: fillrate was stopped.';
      document.querySelector('h1').after(note);
    }
  };
  setTimeout(follow, followEvery);
}
