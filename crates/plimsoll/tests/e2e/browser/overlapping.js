// Texts of a drawing that stand on each other.
const bad = [];
for (const svg of document.querySelectorAll('.chart svg')) {
  const texts = [...svg.querySelectorAll('text')].filter(t => t.textContent && t.getClientRects().length);
  const boxes = texts.map(t => t.getBoundingClientRect());
  for (let i = 0; i < texts.length; i++) for (let j = 0; j < i; j++) {
    const [a, b] = [boxes[i], boxes[j]];
    // Boxes of lines of text are higher than their letters.
    const high = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 4;
    if (high && Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1)
      bad.push(svg.dataset.chart + ': ' + texts[j].textContent + ' / ' + texts[i].textContent);
  }
}
return bad;
