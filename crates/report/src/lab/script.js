'use strict';
// Draws what the server sends, and sends what is pressed. The server holds all state.
(() => {
  const get = id => document.getElementById(id);
  const base = location.pathname.replace(/\/?$/, '/');
  const state = (text, off) => { const at = get('state'); at.textContent = text; at.classList.toggle('off', off); };
  const send = message => fetch(base + 'do', { method: 'POST', body: message })
    .then(answer => { if (!answer.ok) return answer.text().then(text => { get('message').textContent = text; }); })
    .catch(() => state('the lab has ended', true));

  // A slider that is held is not moved by the server.
  let held = null;
  const show = slider => { slider.parentNode.querySelector('output').textContent = slider.value + ' %'; };
  for (const slider of document.querySelectorAll('input[type=range]')) {
    slider.addEventListener('pointerdown', () => { held = slider; });
    slider.addEventListener('input', () => {
      show(slider);
      send(JSON.stringify({ [slider.id]: Number(slider.value) }));
    });
  }
  document.addEventListener('pointerup', () => { held = null; });
  document.addEventListener('click', event => {
    const button = event.target.closest('button[data-send]');
    if (button) send(button.dataset.send);
  });

  const values = json => {
    for (const [name, value] of Object.entries(JSON.parse(json))) {
      const slider = get(name);
      if (slider && slider !== held) { slider.value = value; show(slider); }
    }
  };
  const put = ([id, markup]) => {
    if (id === 'values') return values(markup);
    const at = get(id);
    if (!at) return;
    // A button keeps the focus when its row is drawn anew.
    const focus = at.contains(document.activeElement) && document.activeElement.dataset.send;
    const ends = at.scrollTop + at.clientHeight >= at.scrollHeight - 4;
    at.innerHTML = markup;
    if (focus) at.querySelector(`[data-send='${CSS.escape(focus)}']`)?.focus();
    if (id === 'log' && ends) at.scrollTop = at.scrollHeight;
  };
  const events = new EventSource(base + 'events');
  events.onopen = () => state('live', false);
  events.onmessage = event => JSON.parse(event.data).forEach(put);
  events.onerror = () => state('the lab has ended, or is not reached', true);
})();
