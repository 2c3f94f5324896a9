"use strict";
(function () {
  const base = document.body.dataset.base;
  const SVG = "http://www.w3.org/2000/svg";

  function made(tag, attributes = {}, text = null, space = null) {
    const element = space ? document.createElementNS(space, tag) : document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    if (text !== null) element.textContent = text;
    return element;
  }

  // The same place in new content: what is unfolded stays so, and who reads with the keyboard stays where they are.
  function nameOf(element) {
    return [element.tagName, element.getAttribute("href"), element.getAttribute("aria-label"), element.matches("summary") ? element.textContent : ""].join("|");
  }
  function replaceContent(place, html) {
    if (place.lastHtml === html) return;
    place.lastHtml = html;
    const unfolded = new Set([...place.querySelectorAll("details[open] > summary")].map(nameOf));
    const scrolled = new Map([...place.querySelectorAll(".wide")].map((each) => [nameOf(each), [each.scrollLeft, each.scrollTop]]));
    const focused = place.contains(document.activeElement) ? nameOf(document.activeElement) : null;
    place.innerHTML = html; // from the server's own renderer, which escapes every name; the policy allows no script in it
    for (const summary of place.querySelectorAll("summary")) if (unfolded.has(nameOf(summary))) summary.parentElement.open = true;
    for (const each of place.querySelectorAll(".wide")) if (scrolled.has(nameOf(each))) [each.scrollLeft, each.scrollTop] = scrolled.get(nameOf(each));
    if (focused) [...place.querySelectorAll("a, summary, [tabindex]")].find((each) => nameOf(each) === focused)?.focus({ preventScroll: true });
  }

  class Part extends HTMLElement {
    show(html, data) {
      if (!this.drawn) {
        this.drawn = made("div");
        this.words = made("div", { class: "words-of-part" });
        this.replaceChildren(this.drawn, this.words);
      }
      this.draw(data);
      if (!("brief" in this.dataset)) replaceContent(this.words, html);
    }
    draw() {}
  }

  function lasting(seconds) {
    if (seconds < 90) return `${Math.round(seconds)} s`;
    if (seconds < 5400) return `${Math.round(seconds / 60)} min`;
    return `${(seconds / 3600).toFixed(1)} h`;
  }

  class TrialProgress extends Part {
    draw(data) {
      if (data.refused) {
        this.drawn.replaceChildren(made("p", { class: "warning" }, data.refused));
        return;
      }
      const parts = [`${data.done.toLocaleString("en")} of ${data.planned.toLocaleString("en")} trials`];
      if (data.failed) parts.push(`${data.failed} failed`);
      parts.push(data.active ? "running" : data.done >= data.planned || !data.goes_on ? "ended" : "not running");
      if (data.seconds_left !== null) {
        const end = new Date(Date.now() + 1000 * data.seconds_left);
        const day = end.toDateString() === new Date().toDateString() ? {} : { day: "numeric", month: "short" };
        parts.push(`about ${lasting(data.seconds_left)} left`, `ends about ${end.toLocaleString("en-GB", { ...day, hour: "2-digit", minute: "2-digit" })}`);
      }
      if (!this.bar) {
        this.bar = made("progress", { "aria-label": "Trials that have ended" });
        this.line = made("p", { class: "state" });
        this.drawn.append(this.bar, this.line);
      }
      this.bar.max = Math.max(data.planned, 1);
      this.bar.value = data.done;
      this.line.textContent = parts.join(" · ");
      this.dataset.active = data.active;
    }
  }

  class TrialOrder extends Part {
    draw(data) {
      if (!data.marks || !data.marks.length) {
        this.drawn.replaceChildren();
        return;
      }
      const lanes = made("div", { class: "lanes", role: "img", "aria-label": `Order of ${data.shown} attempts, one lane for each treatment, from left to right` });
      const kinds = { finished: "done", running: "running" };
      data.treatments.forEach((name, rank) => {
        const lane = made("svg", { viewBox: `0 0 ${Math.max(data.marks.length, 30)} 10`, preserveAspectRatio: "none", "aria-hidden": "true" }, null, SVG);
        const paths = { done: "", running: "", lost: "" };
        data.marks.forEach((mark, place) => {
          if (mark[1] === rank) paths[kinds[mark[2]] || "lost"] += `M${place} 0h.8v10h-.8z`;
        });
        for (const [kind, path] of Object.entries(paths)) if (path) lane.append(made("path", { class: kind, d: path }, null, SVG));
        const row = made("div", { class: "lane" });
        row.append(made("span", {}, name), lane);
        lanes.append(row);
      });
      const legend = made("p", { class: "legend" });
      for (const [kind, words] of [["done", "finished"], ["running", "running"], ["lost", "without a value, or left out"]]) {
        legend.append(made("span", { class: `key ${kind}`, "aria-hidden": "true" }), `${words} `);
      }
      this.drawn.replaceChildren(lanes, legend);
    }
  }

  const WIDE = 300, HIGH = 70;

  function rangeOf(courses) {
    const ends = courses.flatMap(({ points }) => points.slice(Math.floor(points.length / 3)).flatMap(([, low, high]) => [low, high]).filter((end) => end !== null));
    const low = Math.min(...ends), high = Math.max(...ends), room = (high - low) * 0.08 || Math.abs(high) * 0.01 || 1;
    return [low - room, high + room];
  }

  function band(course, [low, high]) {
    const most = course.points[course.points.length - 1][0];
    const x = (n) => (WIDE * n) / most, y = (value) => Math.min(Math.max(HIGH * (1 - (value - low) / (high - low)), 0), HIGH);
    const known = course.points.filter(([, from, to]) => from !== null && to !== null);
    const there = known.map(([n, , to]) => `${x(n).toFixed(1)},${y(to).toFixed(1)}`);
    const back = known.map(([n, from]) => `${x(n).toFixed(1)},${y(from).toFixed(1)}`).reverse();
    const svg = made("svg", { viewBox: `0 0 ${WIDE} ${HIGH}`, preserveAspectRatio: "none", "aria-hidden": "true" }, null, SVG);
    svg.append(made("polygon", { class: "band", points: [...there, ...back].join(" ") }, null, SVG));
    return svg;
  }

  class IntervalCourses extends Part {
    draw(data) {
      if (!data.courses) {
        this.drawn.replaceChildren();
        return;
      }
      const nodes = [made("p", { class: "lead" }, `Over ${data.trials.toLocaleString("en")} finished trials.`), made("p", { class: "warning" }, data.rule)];
      const metrics = [...new Set(data.courses.map((course) => course.metric))];
      for (const metric of metrics) {
        const all = data.courses.filter((course) => course.metric === metric);
        const own = all.filter(({ ends }) => ends), few = all.filter(({ ends }) => !ends);
        const grid = made("div", { class: "courses" });
        for (const course of own) {
          const last = course.points[course.points.length - 1];
          const told = `${course.ends[0]} to ${course.ends[1]} (n = ${last[0]})`;
          const figure = made("figure", { role: "group", "aria-label": `${metric}, ${course.treatment}: ${course.what}: ${told}` });
          const caption = made("figcaption");
          caption.append(made("strong", {}, course.treatment), ` ${told}`);
          figure.append(band(course, rangeOf([course])), made("div", { class: "ends", "aria-hidden": "true" }, `n = ${course.points[0][0]} … ${last[0]}`), caption);
          grid.append(figure);
        }
        nodes.push(made("h3", {}, `${metric}: ${all[0].what}`));
        if (own.length) nodes.push(made("p", { class: "lead" }, "Each on its own scale, from the first trials to all; what is beyond the frame is cut off."), grid);
        if (few.length) nodes.push(made("p", { class: "lead" }, `Too few trials yet for an interval: ${few.map(({ treatment, points }) => `${treatment} (n = ${points[points.length - 1][0]})`).join(", ")}.`));
      }
      this.drawn.replaceChildren(...nodes);
    }
  }

  class CompareForm extends HTMLElement {
    connectedCallback() {
      const [b, a] = this.querySelectorAll("select"), link = this.querySelector("a");
      const point = () => link.setAttribute("href", `${base}compare?a=${a.value}&b=${b.value}`);
      a.addEventListener("change", point);
      b.addEventListener("change", point);
      point();
    }
  }

  customElements.define("plain-part", class extends Part {});
  customElements.define("trial-progress", TrialProgress);
  customElements.define("trial-order", TrialOrder);
  customElements.define("interval-courses", IntervalCourses);
  customElements.define("compare-form", CompareForm);

  const connection = document.getElementById("connection");
  if (!connection) return;
  const places = [...document.querySelectorAll("[data-experiment]")];
  const isOverview = !places.length || "brief" in places[0].querySelector("[data-part]").dataset;
  let source = null, last = "";

  function tell(text) {
    if (connection.textContent !== text) connection.textContent = text;
  }
  function take(event) {
    last = event.lastEventId;
    const { experiment, part, html, data } = JSON.parse(event.data);
    document.querySelector(`[data-experiment="${experiment}"] [data-part="${part}"]`)?.show(html, data);
    document.documentElement.dataset.events = Number(document.documentElement.dataset.events || 0) + 1;
  }
  function listen() {
    if (source) return;
    const asked = new URLSearchParams(isOverview ? [] : places.map((place) => ["e", place.dataset.experiment]));
    if (last) asked.set("since", last);
    source = new EventSource(`${base}events?${asked}`);
    source.addEventListener("open", () => tell("This page follows what is recorded."));
    source.addEventListener("error", () => tell("The connection is lost; trying again. What is shown may be old."));
    source.addEventListener("part", take);
    source.addEventListener("list", () => { if (isOverview) location.reload(); });
  }
  function pause() {
    source?.close();
    source = null;
  }
  // A page that nobody sees asks for nothing.
  document.addEventListener("visibilitychange", () => (document.hidden ? pause() : listen()));
  window.addEventListener("pagehide", pause);
  window.addEventListener("pageshow", listen);
  if (!document.hidden) listen();
})();
