// The behaviour of the page of a comparison of writers.
(() => {
  const { data, $, sources, wait, sort } = common;

  function times() {
    const points = [];
    for (const { name, students, colour, shape, ms, label } of data.entries.filter((e) => e.ms)) {
      const [low, middle, high] = ms;
      points.push({ name, students, colour, shape, label, ms: middle, low: low ?? middle, high: high ?? middle });
    }
    return { points };
  }

  function samples() {
    const points = [];
    for (const entry of data.entries.filter((e) => e.students === Number($("samples-size").value))) {
      entry.samples.forEach((ms, index) => points.push({ line: entry.name, colour: entry.colour, shape: entry.shape, ms,
        median: entry.ms ? entry.ms[1] : null, filled: entry.disturbed.includes(index) ? 0 : 1 }));
    }
    return { points };
  }

  Object.assign(sources, { times, samples });
  $("samples-size").addEventListener("change", () => wait(document.querySelector("[data-chart='samples']")));
  document.addEventListener("click", (event) => {
    const button = event.target.closest("button");
    if (button?.dataset.sort !== undefined) sort(button);
  });
  document.querySelectorAll("[data-chart]").forEach(wait);
})();
