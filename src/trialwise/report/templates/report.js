"use strict";
(function () {
  const read = (id) => JSON.parse(document.getElementById(id).textContent);
  const specs = read("figure-specs");
  const sheets = read("figure-sheets");
  const PRINTED = { height: 95, width: 310, single: 460, rows: 400 }; // pixels on paper, where three figures stand in a row
  const drawn = [];
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
      if (spec.width === "container") drawn.push([view, place.closest("figure").matches(".single > *")]);
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
    for (const one of drawn) {
      const [view, isSingle] = one;
      one.before = [view.width(), view.height()];
      const height = view.height() > PRINTED.rows ? view.height() : Math.min(view.height(), PRINTED.height);
      view.width(isSingle ? PRINTED.single : PRINTED.width).height(height).run();
    }
  });
  window.addEventListener("afterprint", () => {
    for (const { 0: view, before: [width, height] } of drawn) view.width(width).height(height).run();
  });
  drawAll();
})();
