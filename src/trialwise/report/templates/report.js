"use strict";
(function () {
  const read = (id) => JSON.parse(document.getElementById(id).textContent);
  const specs = read("figure-specs");
  const sheets = read("figure-sheets");
  const PRINTED = 150; // pixels of a figure's height on paper, where the page is narrower
  const tall = [];
  const coarse = window.matchMedia("(pointer: coarse)").matches;

  function rowsOf(sheet) {
    const names = Object.keys(sheet);
    const columns = names.map((name) => sheet[name].v || sheet[name].i.map((place) => sheet[name].t[place] ?? null));
    return columns.length ? columns[0].map((_, row) => Object.fromEntries(names.map((name, at) => [name, columns[at][row]]))) : [];
  }

  function withData(spec) {
    const text = JSON.stringify(spec);
    const used = Object.keys(sheets).filter((name) => text.includes('"' + name + '"'));
    const whole = JSON.parse(text);
    whole.datasets = Object.fromEntries(used.map((name) => [name, rowsOf(sheets[name])]));
    if (coarse && whole.params) whole.params = whole.params.filter((param) => param.bind !== "scales");
    return whole;
  }

  async function draw(place) {
    const spec = withData(specs[place.dataset.figure]);
    try {
      const { view } = await vegaEmbed(place, spec, { actions: false, renderer: "svg", logLevel: 1, tooltip: { theme: "custom" } });
      if (spec.height > PRINTED) tall.push([view, view.height()]);
      place.dataset.drawn = "yes";
    } catch (error) {
      place.textContent = "This figure could not be drawn: " + error.message;
      console.error(error);
    }
  }

  async function drawAll() {
    for (const place of document.querySelectorAll("[data-figure]")) await draw(place);
    document.documentElement.dataset.figures = "drawn";
  }

  window.addEventListener("beforeprint", () => {
    for (const [view] of tall) view.height(PRINTED).run();
  });
  window.addEventListener("afterprint", () => {
    for (const [view, height] of tall) view.height(height).run();
  });
  drawAll();
})();
