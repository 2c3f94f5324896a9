"use strict";
(function () {
  const read = (id) => JSON.parse(document.getElementById(id).textContent);
  const specs = read("figure-specs");
  const sheets = read("figure-sheets");
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
      await vegaEmbed(place, spec, { actions: false, renderer: "svg", logLevel: 1, tooltip: { theme: "custom" } });
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
    for (const fold of document.querySelectorAll("details:not(.long)")) fold.open = true;
  });
  drawAll();
})();
