"use strict";
(() => {
  const find = (selector, within = document) => [...within.querySelectorAll(selector)];
  const byId = (id) => document.getElementById(id);

  // Light or dark, as the reader wants it; as the system says until then.
  const root = document.documentElement;
  byId("theme").addEventListener("click", () => {
    const dark = matchMedia("(prefers-color-scheme: dark)").matches;
    const now = root.dataset.theme || (dark ? "dark" : "light");
    root.dataset.theme = now === "dark" ? "light" : "dark";
  });

  // The findings as a file, made from what stands in this page.
  const download = byId("download");
  if (download) {
    const json = byId("raw").textContent;
    download.href = URL.createObjectURL(new Blob([json], { type: "application/json" }));
  }

  // Which of several drawings of a comparison is shown.
  for (const choice of find("input[data-shows]")) {
    choice.addEventListener("change", () => {
      for (const part of find(".basis")) {
        part.classList.toggle("on", part.dataset.basis === choice.dataset.shows);
      }
      for (const other of find("input[data-shows]")) {
        other.checked = other.dataset.shows === choice.dataset.shows;
      }
    });
  }

  // A level that is picked anywhere is shown everywhere.
  const levels = JSON.parse(byId("levels").textContent);
  if (!levels.names || levels.names.length === 0) return;
  const charts = find("svg[data-xs]").map((svg) => ({
    svg,
    cursor: svg.querySelector(".cursor"),
    places: svg.dataset.xs.split(" ").map(Number),
  }));
  const marks = new Map();
  for (const mark of find("[data-l]")) {
    const level = Number(mark.dataset.l);
    if (!marks.has(level)) marks.set(level, []);
    marks.get(level).push(mark);
  }
  const details = new Map(levels.details);
  const select = byId("level");
  let picked = -1;

  function pick(level) {
    level = Math.max(0, Math.min(levels.names.length - 1, level));
    if (level === picked) return;
    for (const mark of marks.get(picked) || []) mark.classList.remove("on");
    picked = level;
    root.dataset.level = level;
    for (const mark of marks.get(level) || []) {
      mark.classList.add("on");
      // Within a spectrum the picked line lies above the others.
      if (mark.matches(".line.level")) mark.parentNode.append(mark);
    }
    for (const { cursor, places } of charts) {
      const place = places[level];
      cursor.classList.toggle("on", Number.isFinite(place));
      if (Number.isFinite(place)) cursor.setAttribute("transform", `translate(${place} 0)`);
    }
    for (const line of find("[data-details]")) {
      line.textContent = (details.get(line.dataset.details) || [])[level] || "";
    }
    byId("facts").textContent = levels.facts[level];
    select.value = String(level);
  }

  function nearest(places, x) {
    let best = -1;
    places.forEach((place, level) => {
      const nearer = best < 0 || Math.abs(place - x) < Math.abs(places[best] - x);
      if (Number.isFinite(place) && nearer) best = level;
    });
    return best;
  }

  function step(by) {
    pick(picked + by);
  }

  for (const { svg, places } of charts) {
    const follow = (event) => {
      const screen = svg.getScreenCTM();
      if (!screen) return;
      const at = new DOMPoint(event.clientX, event.clientY).matrixTransform(screen.inverse());
      const level = nearest(places, at.x);
      if (level >= 0) pick(level);
    };
    svg.addEventListener("pointermove", follow);
    svg.addEventListener("pointerdown", follow);
    svg.addEventListener("keydown", (event) => {
      const by = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1 }[event.key];
      const to = { Home: 0, End: levels.names.length - 1 }[event.key];
      if (by === undefined && to === undefined) return;
      event.preventDefault();
      if (by !== undefined) step(by);
      else pick(to);
    });
  }
  document.addEventListener("pointerover", (event) => {
    const mark = event.target.closest ? event.target.closest("[data-l]") : null;
    // Charts with an axis of loads follow the pointer themselves.
    if (mark && !mark.closest("svg[data-xs]")) pick(Number(mark.dataset.l));
  });
  select.addEventListener("change", () => pick(Number(select.value)));
  byId("lower").addEventListener("click", () => step(-1));
  byId("higher").addEventListener("click", () => step(1));
  pick(levels.first);
})();
