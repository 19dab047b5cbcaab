// The behaviour of the page of the catalogue.
(() => {
  const { data, $, element, sources, wait, sort } = common;
  let platform = 0;

  const here = (program) => data.cells.filter((c) => c.program === program && c.platform === data.platforms[platform]);

  function rates(program) {
    const points = [], ideal = [];
    const most = Math.max(...data.threads);
    for (const { way, label, colour, shape, rates: found } of here(program)) {
      for (const [threads, rate] of found) points.push({ way, label, colour, shape, threads, rate });
      const alone = found.find(([threads]) => threads === 1);
      if (alone && found.length > 1) for (const threads of [1, most]) ideal.push({ way, colour, threads, rate: alone[1] });
    }
    return { points, ideal };
  }

  function efficiencies() {
    const points = [];
    const names = [...new Set(data.cells.map((cell) => `${cell.program} ${cell.way}`))];
    for (const cell of data.cells.filter((c) => c.parallel)) {
      const program = `${cell.program} ${cell.way}`;
      for (const threads of data.threads.filter((p) => p > 1)) {
        const found = cell.speedups.find(([p]) => p === threads);
        const efficiency = found ? found[1] / threads : null;
        points.push({ program, column: cell.platform, threads, efficiency, program_order: names.indexOf(program), column_order: data.platforms.indexOf(cell.platform),
          short: efficiency === null ? "✕" : efficiency.toFixed(efficiency < 0.995 ? 2 : 1).replace(/^0/, ""), said: cell.label });
      }
    }
    return { points };
  }

  Object.assign(sources, { rates: (place) => rates(place.dataset.program), efficiency: efficiencies });

  function show(chosen) {
    platform = chosen;
    for (const tab of document.querySelectorAll(".tab")) tab.setAttribute("aria-pressed", String(Number(tab.dataset.platform) === platform));
    $("rates-grid").replaceChildren(...data.programs.filter((name) => here(name).length).map((name) => {
      const place = element("div", { className: "chart" });
      Object.assign(place.dataset, { chart: "rates", program: name });
      const ways = here(name).map(({ way, colour, glyph }) =>
        element("li", {}, element("b", { textContent: glyph, style: `color:${colour}` }), element("span", { textContent: way })));
      return element("figure", {}, element("figcaption", { textContent: name }), element("ul", { className: "ways" }, ...ways), place);
    }));
    document.querySelectorAll("[data-chart]").forEach(wait);
  }

  document.addEventListener("click", (event) => {
    const button = event.target.closest("button");
    if (button?.dataset.platform !== undefined) show(Number(button.dataset.platform));
    else if (button?.dataset.sort !== undefined) sort(button);
  });
  show(0);
})();
