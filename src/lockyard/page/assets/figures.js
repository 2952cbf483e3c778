// SPDX-License-Identifier: Apache-2.0
// Draws figures when they come near the window, and gives them buttons and keys.

const PRINT_WIDTH = 680;

function lookNow(plot, state) {
  const width = state.printing ? PRINT_WIDTH : Math.max(plot.clientWidth, 280);
  const narrow = width < 460;
  return {
    width, labelWidth: narrow ? 116 : 150, labelLetters: narrow ? 15 : 20,
    font: getComputedStyle(document.body).fontFamily, coarse: matchMedia("(pointer: coarse)").matches,
    marks: state.marks, chosen: state.chosen, ink: colour("ink"), ink2: colour("ink-2"),
    paper: colour("paper"), raised: colour("raised"), rule: colour("rule"), faint: colour("faint"),
    accent: colour("accent"), hues: [0, 1, 2, 3, 4, 5, 6, 7].map((hue) => colour(`hue-${hue}`)),
  };
}

class Figure {
  constructor(element, spec, state) {
    Object.assign(this, { element, spec, state, plot: element.querySelector(".plot"), isDrawn: false });
    this.canZoom = ["lines", "points", "timeline"].includes(spec.kind);
    this.addButtons();
  }

  draw() {
    const { traces, layout } = KINDS[this.spec.kind](this.spec, lookNow(this.plot, this.state));
    this.home = layout.xaxis.range;
    const first = !this.isDrawn;
    this.isDrawn = true;
    if (!this.canZoom) layout.dragmode = false;
    layout.yaxis.fixedrange = this.spec.kind === "timeline" || layout.yaxis.fixedrange;
    Plotly.react(this.plot, traces, layout, { displayModeBar: false, doubleClick: false });
    this.plot.dataset.state = "drawn";
    if (first && this.canZoom) this.addZoom();
  }

  addZoom() {
    this.plot.on("plotly_relayout", (change) => {
      if (Object.keys(change).some((key) => key.includes(".range"))) this.retick();
    });
    this.plot.on("plotly_doubleclick", () => this.whole());
    this.plot.addEventListener("keydown", (event) => {
      const act = {
        "+": () => this.zoom(0.5), "=": () => this.zoom(0.5), "-": () => this.zoom(2),
        ArrowLeft: () => this.zoom(1, -0.2), ArrowRight: () => this.zoom(1, 0.2),
        0: () => this.whole(), Home: () => this.whole(),
      }[event.key];
      if (!act || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      act();
    });
  }

  range() { return this.plot.layout.xaxis.range; }

  zoom(factor, shift = 0) {
    if (!this.isDrawn) return;
    const [low, high] = this.range();
    const middle = (low + high) / 2 + (high - low) * shift;
    const half = ((high - low) * factor) / 2;
    this.show([middle - half, middle + half]);
  }

  whole() { if (this.isDrawn) this.show(this.home); }

  show(range) { Plotly.relayout(this.plot, { "xaxis.range": range }); }

  retick() {
    const { width, margin } = this.plot.layout;
    const ticks = ticksOf(this.spec.x, this.range(), width - margin.l - margin.r);
    Plotly.relayout(this.plot, { "xaxis.tickvals": ticks.tickvals, "xaxis.ticktext": ticks.ticktext });
  }

  addButtons() {
    const name = this.spec.title;
    const bar = document.createElement("div");
    bar.className = "buttons";
    if (this.canZoom) {
      this.plot.setAttribute("aria-keyshortcuts", "+ - ArrowLeft ArrowRight 0");
      bar.append(
        button("−", `Zoom out (key -): ${name}`, () => this.zoom(2)),
        button("+", `Zoom in (key +): ${name}`, () => this.zoom(0.5)),
        button("◂", `Move left (left arrow): ${name}`, () => this.zoom(1, -0.2)),
        button("▸", `Move right (right arrow): ${name}`, () => this.zoom(1, 0.2)),
        button("Whole", `Show the whole (key 0): ${name}`, () => this.whole()),
      );
    }
    bar.append(
      button("SVG", `Save as SVG: ${name}`, () => this.saveSvg()),
      button("CSV", `Save as CSV: ${name}`, () => {
        saveText(`${fileName(name)}.csv`, csvText(rowsOf(this.spec)), "text/csv");
      }),
    );
    this.element.append(bar);
  }

  async saveSvg() {
    if (!this.isDrawn) this.draw();
    const { width, height } = this.plot.layout;
    const url = await Plotly.toImage(this.plot, { format: "svg", width, height });
    save(`${fileName(this.spec.title)}.svg`, url);
  }
}

// Shows one figure of several at a time.
function startChoice(place, shown) {
  const options = [...place.querySelectorAll(":scope > .option")];
  const label = document.createElement("label");
  const select = document.createElement("select");
  label.append(`${place.dataset.label[0].toUpperCase()}${place.dataset.label.slice(1)}: `, select);
  for (const each of options) select.append(new Option(each.dataset.name));
  const show = () => {
    options.forEach((each, at) => { each.hidden = at !== select.selectedIndex; });
    shown();
  };
  select.addEventListener("change", show);
  place.prepend(label);
  options.forEach((each, at) => { each.hidden = at > 0; });
}

// The data of a chart as rows, the first with the names of the columns.
function rowsOf(spec) {
  const named = (axis) => (axis.unit === "number" || axis.names.length ? axis.title : `${axis.title} [${axis.unit}]`);
  if (spec.kind === "heat") {
    return [[spec.y.title, spec.x.title, spec.data.of], ...spec.data.z.flatMap((row, at) =>
      row.map((value, along) => [spec.y.names[at], spec.x.names[along], value]))];
  }
  if (spec.kind === "timeline") {
    const { rows, states, slices } = spec.data;
    return [["row", "state", "begin [ns]", "length [ns]", "note"], ...slices.map(
      ([row, begin, length, state, note]) => [rows[row], states[state].name, begin, length, note])];
  }
  return [["series", "source", named(spec.x), named(spec.y), "low", "high", "note"], ...spec.series.flatMap((each) =>
    each.x.map((x, at) => [each.name, each.role, x, each.y[at], each.low[at], each.high[at], each.notes[at]]))];
}
