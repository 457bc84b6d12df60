// Texts with less than 4.5 : 1 against the page (WCAG 2.2, success criterion 1.4.3), by
// its own formula.
const canvas = document.createElement('canvas').getContext('2d', {willReadFrequently: true});
const channels = (colour) => {
  canvas.fillStyle = colour; canvas.fillRect(0, 0, 1, 1);
  return [...canvas.getImageData(0, 0, 1, 1).data].slice(0, 3);
};
const luminance = (colour) => channels(colour).map(c => c / 255)
  .map(c => c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4)
  .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
const page = luminance(getComputedStyle(document.body).backgroundColor);
const faint = new Set();
for (const element of document.querySelectorAll('svg text, p, th, td, dt, dd, h1, h2, a, summary, button, em, span')) {
  const style = getComputedStyle(element);
  const colour = element.matches('svg text') ? style.fill : style.color;
  const own = luminance(colour);
  const ratio = (Math.max(own, page) + 0.05) / (Math.min(own, page) + 0.05);
  if (ratio < 4.5) faint.add(element.tagName + '.' + element.getAttribute('class') + ' ' + ratio.toFixed(2));
}
return [...faint];
