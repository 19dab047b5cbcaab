// The behaviour of the report of a run.
(() => {
  const { data, $, element, number, sources, draw, wait, command, sort } = common;
  let block = 0;

  // ---- data of the charts
  const here = () => data.cells.filter((cell) => cell.block === block);
  const programs = () => [...new Set(here().map((cell) => cell.program))];
  const series = () => [...new Set(here().filter((cell) => cell.parallel).map((c) => `${c.backend}:${c.variant}`))].sort();

  function speedups(program) {
    const all = series();
    const points = [];
    for (const cell of here().filter((c) => c.program === program && c.parallel)) {
      const name = `${cell.backend}:${cell.variant}`;
      const aside = 1.2 ** ((all.indexOf(name) - (all.length - 1) / 2) / all.length);
      let stretch = 0;
      for (const threads of data.threads) {
        const point = cell.points.find((p) => p.threads === threads);
        if (!point || !point.speedup) { stretch += 1; continue; }
        const [low, estimate, high] = point.speedup;
        points.push({ x: threads * aside, threads, estimate, low: low || estimate, high: high ?? estimate, stretch,
          backend: cell.backend, variant: cell.variant, series: name, label: cell.label });
      }
    }
    const most = Math.max(...data.threads);
    return { points, ideal: [{ x: 1, estimate: 1 }, { x: most, estimate: most }] };
  }

  function efficiencies() {
    const points = [], columns = series(), rows = programs();
    for (const cell of here().filter((c) => c.parallel)) {
      for (const point of cell.points.filter((p) => p.threads > 1)) {
        const efficiency = point.speedup ? point.speedup[1] / point.threads : null;
        points.push({ program: cell.program, column: `${cell.backend}:${cell.variant}`, threads: point.threads, efficiency,
          column_order: columns.indexOf(`${cell.backend}:${cell.variant}`), program_order: rows.indexOf(cell.program),
          short: efficiency === null ? "✕" : efficiency.toFixed(efficiency < 0.995 ? 2 : 1).replace(/^0/, ""), said: cell.label });
      }
    }
    return { points };
  }

  function overheads() {
    const measured = here().filter((cell) => cell.overhead !== null);
    const points = measured.filter((cell) => cell.overhead > 0)
      .map(({ program, backend, variant, overhead }) => ({ program, backend, variant, overhead }));
    const hidden = measured.length - points.length;
    $("overhead-note").textContent = hidden ? `${hidden} not shown: no slower than serial, within noise.` : "";
    return { points };
  }

  function samples(program) {
    const points = [];
    for (const cell of here().filter((c) => c.program === program)) {
      for (const point of cell.points) {
        point.samples.forEach((ms, index) => points.push({
          line: `${cell.backend}:${cell.variant} ×${point.threads}`, backend: cell.backend, variant: cell.variant,
          threads: point.threads, ms, median: point.ms ? point.ms[1] : null,
          disturbed: point.disturbed.includes(index) ? "disturbed" : "no", hollow: point.disturbed.includes(index) ? 1 : 0 }));
      }
    }
    return { points };
  }

  Object.assign(sources, {
    speedup: (place) => speedups(place.dataset.program),
    efficiency: efficiencies,
    overhead: overheads,
    samples: () => samples($("samples-program").value),
  });

  function show(chosen) {
    block = chosen;
    for (const tab of document.querySelectorAll(".tab")) tab.setAttribute("aria-pressed", String(Number(tab.dataset.block) === block));
    for (const table of document.querySelectorAll(".block")) table.hidden = Number(table.dataset.block) !== block;
    const names = programs();
    const measured = names.filter((name) => speedups(name).points.length), rest = names.filter((name) => !measured.includes(name));
    $("speedup-note").textContent = rest.length ? `No speed-up was measured for ${measured.length ? rest.join(", ") : "any program"}.` : "";
    $("speedup-grid").replaceChildren(...measured.map((name) => {
      const place = element("div", { className: "chart" });
      Object.assign(place.dataset, { chart: "speedup", program: name });
      return element("figure", {}, element("figcaption", { textContent: name }), place);
    }));
    const choice = $("samples-program"), before = choice.value;
    choice.replaceChildren(...names.map((name) => element("option", { value: name, textContent: name })));
    if (names.includes(before)) choice.value = before;
    document.querySelectorAll("[data-chart]").forEach(wait);
  }

  // ---- one cell in full
  const range = (three, digits) => three ? `${number(three[1], digits)} (${number(three[0], digits)} to ${number(three[2], digits)})` : "none";

  function open(cell) {
    const lines = cell.points.map((point) => element("tr", {}, ...[
      point.threads, range(point.ms, 4), range(point.speedup, 3), point.samples.length - point.disturbed.length,
      [...Object.entries(point.failed).map(([how, count]) => `${count} ${how.replaceAll("_", " ")}`),
        ...(point.disturbed.length ? [`${point.disturbed.length} disturbed`] : [])].join(", "),
    ].map((text) => element("td", { textContent: text }))));
    const head = element("tr", {}, ...["threads", "ms, 95 % interval", "speed-up, 95 % interval", "samples", "not counted"].map((text) => element("th", { textContent: text })));
    const facts = [cell.detail && `${cell.detail}.`, cell.base && `Base: ${cell.base}.`,
      cell.overhead !== null && `Overhead per task: ${number(cell.overhead)} ns.`,
      cell.nodes !== null && `Per node of the search the speed-up is ${number(cell.nodes)}: the work depends on timing.`,
      ...new Set(cell.points.map((point) => point.reason).filter(Boolean))].filter(Boolean);
    const label = element("p", {}, element("span", { className: `verdict k-${cell.kind_name}`, textContent: cell.label }));
    if (cell.explained !== null) label.append(" ", element("a", { href: `#explained-${cell.explained}`, textContent: "why" }));
    $("dialog-body").replaceChildren(
      element("h3", { id: "dialog-title", textContent: `${cell.program}, ${cell.backend}:${cell.variant}` }),
      element("p", { className: "hint", textContent: data.blocks[cell.block] }), label,
      ...facts.map((text) => element("p", { className: "hint", textContent: text })),
      element("div", { className: "scroll" }, element("table", { className: "plain" }, element("thead", {}, head), element("tbody", {}, ...lines))),
      ...cell.points.filter((point) => point.command).map((point) => command(point.command)));
    $("dialog").showModal();
  }

  // ---- commands, events
  function commands() {
    const words = $("filter").value.toLowerCase().split(/\s+/).filter(Boolean);
    const all = [...new Set(data.cells.flatMap((cell) => cell.points.map((point) => point.command)).filter(Boolean))];
    const fitting = all.filter((text) => words.every((word) => text.toLowerCase().includes(word)));
    $("commands").replaceChildren(...fitting.slice(0, 200).map((text) => element("tr", {}, element("td", {}, command(text)))),
      ...(fitting.length > 200 ? [element("tr", {}, element("td", { textContent: `and ${fitting.length - 200} more: name what you look for` }))] : []));
  }

  document.addEventListener("click", (event) => {
    const button = event.target.closest("button");
    if (!button) { if (event.target === $("dialog")) $("dialog").close(); return; }
    if (button.dataset.cell !== undefined) open(data.cells[Number(button.dataset.cell)]);
    else if (button.dataset.block !== undefined) show(Number(button.dataset.block));
    else if (button.dataset.sort !== undefined) sort(button);
  });
  $("samples-program").addEventListener("change", () => draw(document.querySelector("[data-chart=samples]")));
  $("filter").addEventListener("input", commands);
  document.querySelector("#reproduce details").addEventListener("toggle", commands);
  show(0);
})();
