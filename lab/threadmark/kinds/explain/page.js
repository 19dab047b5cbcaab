// Zoom and search of the flame graphs, and callers and callees of a function. Names are only ever set as textContent.
"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const all = (selector, from = document) => [...from.querySelectorAll(selector)];
  const make = (name, fields = {}, ...children) => {
    const made = Object.assign(document.createElement(name), fields);
    made.append(...children);
    return made;
  };
  const time = (us) => {
    const [unit, factor] = us >= 1e6 ? ["s", 1e6] : us >= 1e3 ? ["ms", 1e3] : ["µs", 1];
    return `${Number((us / factor).toPrecision(3))} ${unit}`;
  };
  document.body.classList.add("scripted-on");
  for (const each of all(".scripted")) each.hidden = false;

  // ---- flame graphs: a box has its place and width in per cent of the whole
  const field = (box, name) => Number(box.style.getPropertyValue(name));
  const known = new Set(data.names);
  for (const graph of all(".graph")) {
    const flame = graph.querySelector(".flame"), boxes = all("i", flame);
    const said = graph.querySelector(".said"), [search] = all("input", graph);
    const places = boxes.map((box) => ({ box, x: field(box, "--x"), w: field(box, "--w"), y: field(box, "--y") }));
    let whole = 100;
    const narrow = () => {
      const pixels = flame.clientWidth / whole;
      for (const { box, w } of places) box.classList.toggle("narrow", w * pixels < 18);
    };
    const zoom = (x, w) => {
      whole = w;
      flame.style.setProperty("--zx", x);
      flame.style.setProperty("--zw", w);
      narrow();
    };
    const say = (box) => {
      said.textContent = box.title;
      if (!known.has(box.textContent) || box.textContent.startsWith("[")) return;
      const button = make("button", { type: "button", className: "copy", textContent: "callers and callees" });
      button.addEventListener("click", () => choose(box.textContent, true));
      said.append(" ", button);
    };
    flame.addEventListener("click", ({ target }) => {
      const place = places.find(({ box }) => box === target);
      if (!place) return;
      zoom(place.x, place.w);
      say(target);
    });
    flame.addEventListener("mouseover", ({ target }) => { if (target.tagName === "I") said.textContent = target.title; });
    graph.querySelector(".head button").addEventListener("click", () => { search.value = ""; find(); zoom(0, 100); });
    const find = () => {
      const wanted = search.value.trim().toLowerCase();
      graph.classList.toggle("searching", wanted !== "");
      const hits = [];
      for (const place of places) {
        const hit = wanted !== "" && place.box.textContent.toLowerCase().includes(wanted);
        place.box.classList.toggle("hit", hit);
        if (hit) hits.push(place);
      }
      // A hit within the stacks of another adds nothing to the share.
      let share = 0, end = -1;
      for (const { x, w } of hits.sort((a, b) => a.x - b.x || b.w - a.w)) {
        share += Math.max(0, x + w - Math.max(x, end));
        end = Math.max(end, x + w);
      }
      said.textContent = wanted === "" ? "" : `${hits.length} ${hits.length === 1 ? "box" : "boxes"}, ${share.toFixed(1)} % of the whole`;
    };
    search.addEventListener("input", find);
    new ResizeObserver(narrow).observe(flame);
  }

  // ---- functions
  const find = document.getElementById("find"), chosen = document.getElementById("chosen");
  const rows = all(".functions tbody tr");
  const first = rows.filter((row) => !row.hidden).length;
  find?.addEventListener("input", () => {
    const wanted = find.value.trim().toLowerCase();
    let shown = 0;
    for (const row of rows) row.hidden = !row.cells[0].textContent.toLowerCase().includes(wanted) || ++shown > first;
  });
  for (const row of rows) row.querySelector("button").addEventListener("click", () => choose(row.cells[0].textContent));

  // A function that calls itself counts once in a stack: its outermost call has the caller, its innermost one the callee.
  function sides(number) {
    const found = { callers: new Map(), callees: new Map(), on: 0, off: 0 };
    const add = (map, key, kind, us) => {
      const entry = map.get(key) ?? { on: 0, off: 0 };
      entry[kind] += us;
      map.set(key, entry);
    };
    for (const kind of ["on", "off"]) {
      for (const [us, ...frames] of data[kind]) {
        const inner = frames.indexOf(number);
        if (inner < 0) continue;
        const outer = frames.lastIndexOf(number);
        found[kind] += us;
        if (outer + 1 < frames.length) add(found.callers, frames[outer + 1], kind, us);
        if (inner > 0) add(found.callees, frames[inner - 1], kind, us);
      }
    }
    return found;
  }

  function choose(name, show = false) {
    const found = sides(data.names.indexOf(name));
    const list = (title, map) => {
      const entries = [...map].sort(([, a], [, b]) => b.on + b.off - a.on - a.off).slice(0, 20);
      const items = entries.map(([number, { on, off }]) => {
        const other = data.names[number];
        const label = make("button", { type: "button", className: "name", textContent: other });
        if (other.startsWith("[")) label.disabled = true; else label.addEventListener("click", () => choose(other));
        return make("li", {}, label, make("span", { textContent: on ? time(on) : "" }), make("span", { textContent: off ? `waits ${time(off)}` : "" }));
      });
      return make("div", {}, make("h3", { textContent: title }), entries.length ? make("ul", {}, ...items) : make("p", { className: "hint", textContent: "Nothing in these stacks." }));
    };
    chosen.hidden = false;
    chosen.replaceChildren(
      make("h3", { textContent: name }),
      make("p", { className: "hint", textContent: `${time(found.on)} on a processor and ${time(found.off)} in waits, with its callees` }),
      make("div", { className: "sides" }, list("Called by", found.callers), list("Calls", found.callees)),
    );
    if (show) chosen.scrollIntoView({ block: "center" });
  }

  addEventListener("beforeprint", () => { for (const each of all("details")) each.open = true; });
})();
