// SPDX-License-Identifier: Apache-2.0
// Starts the page: what is in the window first, everything else when there is time.

const content = JSON.parse(document.getElementById("data").textContent);
const state = { marks: content.marks, chosen: new Set(content.chosen), printing: false };
const figures = [];

function startFigures() {
  const drawing = typeof Plotly !== "undefined";
  document.documentElement.classList.toggle("charting", drawing);
  for (const element of document.querySelectorAll("[data-drawn]")) {
    const spec = content.drawn[Number(element.dataset.drawn)];
    if (spec.draw === "execution") new Lanes(element, spec);
    else if (drawing) figures.push(new Figure(element, spec, state));
  }
}

function isNear(figure) {
  const box = figure.element.getBoundingClientRect();
  return box.width > 0 && box.top < innerHeight * 1.2 && box.bottom > -innerHeight * 0.2;
}

let queued = null;

// Draws the figures near the window at once, and then one of the others each time the page is idle.
function drawSoon() {
  figures.filter((each) => !each.isDrawn && isNear(each)).forEach((each) => each.draw());
  mark("visible-charts-drawn");
  if (queued !== null) return;
  const next = () => {
    const figure = figures.find((each) => !each.isDrawn && each.element.getBoundingClientRect().width > 0);
    figure?.draw();
    queued = figure ? setTimeout(next, 0) : null;
    if (!figure) {
      mark("all-charts-drawn");
      document.documentElement.dataset.charts = "drawn";
    }
  };
  queued = setTimeout(next, 0);
}

function mark(name) {
  if (!performance.getEntriesByName(name).length) performance.mark(name);
}

function redraw() {
  delete document.documentElement.dataset.charts;
  for (const figure of figures) figure.isDrawn = false;
  drawSoon();
}

function sample({ hue, dash, marker }) {
  const shapes = {
    circle: "M12,3a4,4 0 1,0 .01,0", square: "M8,3h8v8h-8z", diamond: "M12,2l5,5l-5,5l-5,-5z",
    "triangle-up": "M12,2l5,9h-10z", "triangle-down": "M12,12l-5,-9h10z",
    cross: "M10,2h4v3h3v4h-3v3h-4v-3h-3v-4h3z", x: "M8,2l4,3l4,-3l1,1l-3,4l3,4l-1,1l-4,-3l-4,3l-1,-1l3,-4l-3,-4z",
    star: "M12,1l1.8,4.2l4.4,.2l-3.4,2.8l1.2,4.3l-4,-2.5l-4,2.5l1.2,-4.3l-3.4,-2.8l4.4,-.2z",
  };
  const dashes = dash === "solid" ? "" : ` stroke-dasharray="${dash.replaceAll("px", "")}"`;
  return `<svg width="24" height="14" aria-hidden="true" style="color:var(--hue-${hue})">` +
    `<path d="M0,7H24" stroke="currentColor" stroke-width="2"${dashes}/>` +
    `<path d="${shapes[marker]}" fill="currentColor"/></svg>`;
}

function startLocks() {
  const names = content.locks;
  if (names.length < 2 || !figures.length) return;
  const place = document.createElement("details");
  place.open = matchMedia("(min-width: 60rem)").matches;
  place.innerHTML = "<summary>Highlight in the charts</summary>";
  document.getElementById("locks").append(place);
  const set = document.createElement("fieldset");
  set.innerHTML = '<legend class="hidden">Locks</legend>';
  const boxes = names.map((name) => {
    const label = document.createElement("label");
    label.innerHTML = `<input type="checkbox">${sample(content.marks[name])}`;
    const box = label.firstChild;
    box.checked = state.chosen.has(name);
    box.addEventListener("change", () => { choose([[box, name]]); });
    label.append(name);
    return [box, name, label];
  });
  const choose = (changed) => {
    for (const [box, name] of changed) state.chosen[box.checked ? "add" : "delete"](name);
    redraw();
  };
  const setAll = (checked) => {
    const shown = boxes.filter(([, , label]) => !label.hidden);
    for (const [box] of shown) box.checked = checked;
    choose(shown);
  };
  const bar = document.createElement("div");
  bar.className = "buttons";
  bar.append(button("All", "Highlight all", () => setAll(true)), button("None", "Highlight none", () => setAll(false)));
  set.append(bar);
  if (names.length > 16) {
    const filter = document.createElement("input");
    filter.type = "search";
    filter.placeholder = "filter by name";
    filter.setAttribute("aria-label", "Filter the names of locks");
    filter.addEventListener("input", () => {
      for (const [, name, label] of boxes) label.hidden = !name.includes(filter.value);
      for (const [, , label] of boxes) label.style.display = label.hidden ? "none" : "";
    });
    set.append(filter);
  }
  set.append(...boxes.map(([, , label]) => label));
  place.append(set);
}

function print(printing) {
  state.printing = printing;
  const theme = document.documentElement.dataset.theme;
  if (printing) {
    state.theme = theme ?? "auto";
    state.hidden = [...document.querySelectorAll(".option[hidden]")];
    for (const each of state.hidden) each.hidden = false;
    state.closed = [...document.querySelectorAll("details:not([open])")];
    for (const each of state.closed) each.open = true;
    setTheme("light");
    figures.forEach((each) => each.draw());
  } else {
    setTheme(state.theme);
    for (const each of state.hidden) each.hidden = true;
    for (const each of state.closed) each.open = false;
    redraw();
  }
}

document.querySelectorAll("table.sortable").forEach(addTableTools);
startFigures();
if (figures.length) document.querySelectorAll(".choice").forEach((each) => startChoice(each, drawSoon));
addThemeButton(document.getElementById("tools"), redraw);
startLocks();
drawSoon();
addEventListener("scroll", drawSoon, { passive: true });
document.querySelectorAll("details").forEach((each) => each.addEventListener("toggle", drawSoon));
let width = innerWidth;
addEventListener("resize", () => {
  if (innerWidth === width || state.printing) return;
  width = innerWidth;
  redraw();
});
addEventListener("beforeprint", () => print(true));
addEventListener("afterprint", () => print(false));
