// What the scripts of all pages share. Data come from #data; text from executables is only ever set as textContent.
// Vega is kept as text until the first chart comes into view, so that the page opens at once.
"use strict";
const common = (() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const $ = (id) => document.getElementById(id);
  const element = (name, attributes = {}, ...children) => {
    const made = Object.assign(document.createElement(name), attributes);
    made.append(...children);
    return made;
  };
  const token = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const number = (value, digits = 3) => value === null ? "∞" : Number(value.toPrecision(digits)).toString();
  const sources = {};  // chart -> what gives its datasets, filled in by each page

  // ---- charts, drawn when they come into view
  let ready;
  function vega() {
    ready ??= new Promise((resolve) => {
      document.head.append(element("script", { textContent: $("vega").textContent }));
      resolve();
    });
    return ready;
  }

  const look = () => {
    const ink = token("--ink"), soft = token("--soft"), line = token("--line");
    return {
      background: null, font: "system-ui, sans-serif", view: { stroke: line },
      axis: { labelColor: soft, titleColor: soft, gridColor: line, gridOpacity: 0.7, domainColor: line, tickColor: line, labelFontSize: 11, titleFontSize: 11, titleFontWeight: 500, labelFont: "system-ui, sans-serif", titleFont: "system-ui, sans-serif" },
      legend: { labelColor: soft, titleColor: soft }, header: { labelColor: ink, titleColor: soft, labelFontSize: 11, labelLimit: 140 },
    };
  };

  async function draw(place) {
    const wanted = (Number(place.dataset.wanted) || 0) + 1;
    place.dataset.wanted = wanted;
    place.dataset.drawn = "false";
    const rows = sources[place.dataset.chart](place);
    if (rows.points.length === 0) {
      place.replaceChildren(element("p", { className: "hint", textContent: "No times to draw here." }));
      place.dataset.drawn = "empty";
      return;
    }
    await vega();
    const spec = structuredClone(data.specs[place.dataset.chart]);
    spec.datasets = rows;
    spec.config = look();
    if (place.dataset.chart !== "efficiency") spec.autosize = { type: "fit-x", contains: "padding" };
    if (spec.height?.step) spec.height = spec.height.step * new Set(rows.points.map((p) => p.line ?? p.program)).size;
    const inner = element("div", { className: "chart" });
    place.replaceChildren(inner);
    const found = await window.vegaEmbed(inner, spec, { renderer: "svg", actions: false, tooltip: { theme: matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light" } });
    if (place.dataset.wanted !== String(wanted)) { found.finalize(); return; }
    place.finish?.();
    place.finish = () => found.finalize();
    place.dataset.drawn = "true";
  }

  const seen = new IntersectionObserver((entries) => {
    for (const entry of entries.filter((e) => e.isIntersecting)) {
      seen.unobserve(entry.target);
      draw(entry.target);
    }
  }, { rootMargin: "300px" });

  const wait = (place) => { seen.unobserve(place); seen.observe(place); };

  // ---- commands to copy, tables to sort
  function copier(text) {
    const button = element("button", { type: "button", className: "copy", textContent: "copy" });
    button.addEventListener("click", async () => {
      let done = true;
      try { await navigator.clipboard.writeText(text); } catch { done = copyOldWay(text, button.parentElement); }
      button.textContent = done ? "copied ✓" : "select and copy";
      setTimeout(() => { button.textContent = "copy"; }, 1500);
    });
    return button;
  }

  // A page opened from a file has no clipboard in some browsers. The field must lie in the open dialog to get the focus.
  function copyOldWay(text, near) {
    const field = element("textarea", { value: text, style: "position:fixed;opacity:0" });
    near.append(field);
    field.select();
    const done = document.execCommand("copy");
    field.remove();
    return done;
  }

  const command = (text) => element("div", { className: "command" }, element("code", { textContent: text }), copier(text));
  // A link to an explanation opens it.
  document.addEventListener("click", (event) => {
    const link = event.target.closest("a[href^='#explained-']");
    if (!link) return;
    link.closest("dialog")?.close();
    $(link.hash.slice(1)).open = true;
  });

  function sort(button) {
    const body = button.closest("table").tBodies[0], column = Number(button.dataset.sort);
    // The first click puts names from A and figures from the largest; the next one turns it round.
    const isText = [...body.rows].every((row) => row.cells[column].dataset.value === undefined);
    const ascending = button.dataset.order ? button.dataset.order === "down" : isText;
    button.closest("thead").querySelectorAll("button").forEach((each) => delete each.dataset.order);
    button.dataset.order = ascending ? "up" : "down";
    const key = (row) => isText ? row.cells[column].textContent : Number(row.cells[column].dataset.value);
    const compare = (a, b) => isText ? key(a).localeCompare(key(b)) : key(a) - key(b);
    body.append(...[...body.rows].sort((a, b) => ascending ? compare(a, b) : compare(b, a)));
  }

  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => document.querySelectorAll("[data-drawn]").forEach(wait));
  return { data, $, element, number, sources, draw, wait, command, sort };
})();
