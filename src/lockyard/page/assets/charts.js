// SPDX-License-Identifier: Apache-2.0
// Turns a chart of the page into Plotly's traces and layout. Nothing here touches the document.

const LINE_HEIGHT = 15; // of a label
const PATTERNS = ["", "/", "x", "-", ".", "\\", "|", "+"];
const MOST_TICKS = 8; // that name the values of an axis themselves
const NEAR_END = 0.7; // a line that ends before this part of the width has its label in the plot
const ROW_OF_SERIES = 9; // pixels between the series of one name
const VERDICT_MARKERS = ["triangle-down", "triangle-up", "diamond"]; // of differences that are shown
const OPEN_MARKERS = ["circle-open", "diamond-open", "square-open", "triangle-up-open", "x-open", "star-open"];

function markOf(series, place, look) {
  const mark = look.marks[series.mark];
  const quiet = series.mark && !look.chosen.has(series.mark);
  if (series.role === "ideal") {
    return { colour: look.ink2, dash: "2px,4px", marker: "circle-open", width: 1.25, quiet: false };
  }
  if (series.role === "published" && !mark) {
    const marker = OPEN_MARKERS[place % OPEN_MARKERS.length];
    return { colour: look.ink2, dash: "3px,2px", marker, width: 1.5, quiet: false };
  }
  const base = mark ?? { hue: place % 8, dash: "solid", marker: "circle" };
  const open = series.role === "published" || series.role === "simulated";
  return {
    colour: quiet ? look.faint : look.hues[base.hue],
    dash: base.dash,
    marker: open ? `${base.marker}-open` : base.marker,
    width: quiet ? 1 : open ? 1.5 : 2,
    quiet,
  };
}

function finite(values) {
  return values.filter((each) => typeof each === "number" && Number.isFinite(each));
}

// Returns a range that has room for markers, in exponents if the axis is logarithmic.
function rangeOf(axis, values) {
  const usable = finite(values).filter((each) => !axis.log || each > 0);
  if (!usable.length) return axis.log ? [0, 1] : [0, 1];
  const at = axis.log ? usable.map(Math.log10) : usable;
  let low = at.reduce((a, b) => Math.min(a, b));
  let high = at.reduce((a, b) => Math.max(a, b));
  if (axis.zero && !axis.log) low = Math.min(low, 0);
  if (high - low < 1e-9) [low, high] = axis.log ? [low - 0.5, high + 0.5] : [low - 1, high + 1];
  const room = (high - low) * 0.05;
  return [axis.zero && low === 0 ? 0 : low - room, high + room];
}

function plotlyAxis(axis, values, pixels, look, extra = {}) {
  const shared = {
    title: { text: axis.title, standoff: 8, font: { size: 12 } },
    color: look.ink2, gridcolor: look.rule, linecolor: look.rule, zeroline: false,
    tickfont: { size: 12, color: look.ink2 }, tickangle: 0, automargin: false, ...extra,
  };
  if (axis.names.length) {
    const names = [...axis.names].reverse();
    return { ...shared, type: "category", categoryorder: "array", categoryarray: names,
      range: [-0.5, names.length - 0.5], fixedrange: true };
  }
  const range = extra.range ?? rangeOf(axis, values);
  return { ...shared, type: axis.log ? "log" : "linear", range, tickmode: "array",
    ...ticksOf(axis, range, pixels) };
}

function hoverText(spec, series, at) {
  const name = series.role === "measured" ? series.name : `${series.name} (${series.role})`;
  const lines = [`<b>${name}</b>`];
  for (const [axis, values] of [[spec.x, series.x], [spec.y, series.y]]) {
    const text = axis.unit === "nines" ? shareOfNines(values[at]) : formatted(values[at], axis.unit);
    lines.push(`${axis.title}: ${text}`);
  }
  const value = spec.kind === "dots" ? spec.x : spec.y;
  if (series.low.length && series.low[at] !== null) {
    lines.push(`from ${formatted(series.low[at], value.unit)} to ${formatted(series.high[at], value.unit)}`);
  }
  if (series.notes.length && series.notes[at]) lines.push(series.notes[at]);
  return lines.join("<br>");
}

function errorBars(series, values, colour) {
  if (!series.low.length) return undefined;
  return {
    type: "data", symmetric: false, color: colour, thickness: 1.25, width: 3,
    array: values.map((each, at) => Math.max(0, (series.high[at] ?? each) - each)),
    arrayminus: values.map((each, at) => Math.max(0, each - (series.low[at] ?? each))),
  };
}

function scatter(spec, series, mark, extra) {
  return {
    type: "scatter", name: series.name, x: series.x, y: series.y,
    customdata: series.x.map((_, at) => hoverText(spec, series, at)),
    hovertemplate: "%{customdata}<extra></extra>",
    line: { color: mark.colour, width: mark.width, dash: mark.dash },
    marker: { color: mark.colour, symbol: mark.marker, size: mark.quiet ? 4 : 8,
      line: { color: mark.colour, width: 1.5 } },
    ...extra,
  };
}

// Moves labels apart that would overlap; each has y in pixels from the top.
function spread(labels, height) {
  labels.sort((a, b) => a.y - b.y);
  for (let at = 1; at < labels.length; at += 1) {
    labels[at].y = Math.max(labels[at].y, labels[at - 1].y + LINE_HEIGHT);
  }
  let limit = height + LINE_HEIGHT / 2;
  for (let at = labels.length - 1; at >= 0; at -= 1) {
    labels[at].y = Math.min(labels[at].y, limit);
    limit = labels[at].y - LINE_HEIGHT;
  }
  return labels;
}

function pixelOf(axis, range, value, pixels) {
  const at = axis.log ? Math.log10(value) : value;
  return ((at - range[0]) / (range[1] - range[0])) * pixels;
}

function cut(text, look) {
  return text.length > look.labelLetters ? `${text.slice(0, look.labelLetters - 1)}…` : text;
}

// Labels the right ends of lines; what the reader did not choose has its name on hover only.
function endLabels(spec, drawn, x, y, size, look) {
  const labels = [];
  const early = [];
  for (const { series, mark } of drawn) {
    const last = series.y.length - 1;
    if (mark.quiet || last < 0 || series.y[last] === null) continue;
    const top = size.height - pixelOf(spec.y, y.range, series.y[last], size.height);
    const suffix = { simulated: " sim.", published: " publ." }[series.role] ?? "";
    const name = series.role === "published" && !series.mark ? series.name : series.name + suffix;
    const at = pixelOf(spec.x, x.range, series.x[last], size.width);
    const label = { x: at, y: top, text: cut(name, look), colour: mark.colour };
    (at < size.width * NEAR_END ? early : labels).push(label);
  }
  const right = spread(labels, size.height).map((each) => ({ ...each, x: size.width + 10 }));
  return [...right, ...placedNear(early, size, true)].map((each) => annotation(each, look));
}

// Returns Plotly's text at a place in pixels from the upper left of the plot.
function annotation({ x, y, text, colour }, look) {
  return { xref: "paper", yref: "paper", x: 0, y: 1, xshift: x, yshift: -y, xanchor: "left",
    yanchor: "middle", showarrow: false, text, align: "left", font: { color: colour, size: 12 },
    bgcolor: look.paper, opacity: 0.9, borderpad: 0 };
}

function baseLayout(size, look, extra = {}) {
  return {
    width: size.width + size.left + size.right, height: size.height + size.top + size.bottom,
    margin: { l: size.left, r: size.right, t: size.top, b: size.bottom, pad: 0 },
    paper_bgcolor: look.paper, plot_bgcolor: look.paper, showlegend: false, hovermode: "closest",
    font: { family: look.font, color: look.ink, size: 12 }, dragmode: look.coarse ? false : "zoom",
    hoverlabel: { bgcolor: look.raised, bordercolor: look.rule, align: "left",
      font: { family: look.font, color: look.ink, size: 13 } },
    ...extra,
  };
}

function lines(spec, look) {
  const size = { width: look.width - 62 - look.labelWidth, height: 300, left: 62,
    right: look.labelWidth, top: 10, bottom: 46 };
  const all = (key) => spec.series.flatMap((each) => each[key]);
  const values = [...new Set(all("x"))].sort((a, b) => a - b);
  if (spec.x.log && values.length <= MOST_TICKS) spec.x.only = values;
  const x = plotlyAxis(spec.x, all("x"), size.width, look);
  const y = plotlyAxis(spec.y, [...all("y"), ...all("low"), ...all("high")], size.height, look);
  const drawn = spec.series.map((series, place) => ({ series, mark: markOf(series, place, look) }));
  drawn.sort((a, b) => b.mark.quiet - a.mark.quiet);
  const traces = drawn.map(({ series, mark }) => {
    const few = series.x.length <= 24 && !spec.data.plain;
    return scatter(spec, series, mark, {
      mode: few && !mark.quiet ? "lines+markers" : "lines",
      error_y: mark.quiet ? undefined : errorBars(series, series.y, mark.colour),
      line: { color: mark.colour, width: mark.width, dash: mark.dash,
        shape: spec.data.steps ? "hv" : "linear" },
    });
  });
  // The marker of a line with many points stands at its end.
  for (const { series, mark } of drawn) {
    if ((series.x.length > 24 || spec.data.plain) && !mark.quiet) {
      traces.push({ type: "scatter", mode: "markers", hoverinfo: "skip", x: series.x.slice(-1),
        y: series.y.slice(-1), marker: { color: mark.colour, symbol: mark.marker, size: 8 } });
    }
  }
  const { level } = spec.data;
  const shapes = level === undefined ? [] : [{ type: "line", xref: "paper", x0: 0, x1: 1, y0: level,
    y1: level, line: { color: look.ink2, width: 1 } }];
  return { traces, layout: baseLayout(size, look, {
    xaxis: x, yaxis: y, shapes, annotations: endLabels(spec, drawn, x, y, size, look) }) };
}

function nameMargin(names, look) {
  const longest = names.reduce((most, each) => Math.max(most, each.length), 0);
  return Math.min(Math.max(60, longest * 7 + 16), Math.round(look.width * 0.4));
}

function dots(spec, look) {
  const left = nameMargin(spec.y.names, look);
  const legend = spec.series.length > 1;
  const rows = spec.y.names.length;
  const row = spec.data.verdicts ? 24 : Math.max(24, spec.series.length * ROW_OF_SERIES + 8);
  const size = { width: look.width - left - 24, height: Math.max(rows * row, 60), left, right: 24,
    top: legend ? 34 : 10, bottom: 46 };
  const place = new Map(spec.y.names.map((name, at) => [name, rows - 1 - at]));
  const apart = Math.min(ROW_OF_SERIES / row, 0.25);
  const values = spec.series.flatMap((each) => [...each.x, ...each.low, ...each.high]);
  const traces = spec.series.map((series, number) => {
    const plain = markOf(series, number, look);
    const colour = series.role === "measured" ? look.accent : look.ink2;
    const filled = spec.data.verdicts ? VERDICT_MARKERS[number % VERDICT_MARKERS.length] : "circle";
    const mark = series.mark ? plain : { ...plain, colour, marker: series.role === "measured" ? filled : plain.marker };
    const shift = spec.data.verdicts ? 0 : ((spec.series.length - 1) / 2 - number) * apart;
    return scatter(spec, series, mark, {
      mode: "markers", y: series.y.map((name) => place.get(name) + shift), showlegend: true, error_x: errorBars(series, series.x, mark.colour),
      marker: { color: mark.colour, symbol: mark.marker, size: series.role === "measured" ? 9 : 8,
        line: { color: mark.colour, width: 1.5 } },
    });
  });
  const shapes = spec.data.reference === undefined ? [] : [{ type: "line", yref: "paper", y0: 0, y1: 1,
    x0: spec.data.reference, x1: spec.data.reference, line: { color: look.ink2, width: 1.25, dash: "4px,3px" } }];
  const values2 = spec.data.reference === undefined ? values : [...values, spec.data.reference];
  return { traces, layout: baseLayout(size, look, {
    xaxis: plotlyAxis(spec.x, values2, size.width, look), shapes, showlegend: legend,
    yaxis: { ...plotlyAxis({ ...spec.y, names: [] }, [], size.height, look, { title: { text: "" } }),
      tickvals: [...place.values()], ticktext: [...place.keys()], range: [-0.5, rows - 0.5],
      fixedrange: true },
    legend: legendAbove(look) }) };
}

function legendAbove(look) {
  return { orientation: "h", x: 0, xanchor: "left", y: 1, yanchor: "bottom", bgcolor: look.paper,
    font: { size: 12, color: look.ink }, itemclick: false, itemdoubleclick: false, traceorder: "normal" };
}

// Puts each label next to its point, where it covers neither another label nor another point.
function placedNear(labels, size, onlyRight = false) {
  const taken = labels.map(({ x, y }) => ({ x: x - 6, y: y - 6, width: 12, height: 12 }));
  const overlap = (a, b) => Math.max(0, Math.min(a.x + a.width, b.x + b.width) - Math.max(a.x, b.x)) *
    Math.max(0, Math.min(a.y + a.height, b.y + b.height) - Math.max(a.y, b.y));
  const shifts = [0, -1, 1, -2, 2, -3, 3, -4, 4].map((each) => each * LINE_HEIGHT);
  return labels.map((label) => {
    const width = label.text.length * 7;
    let best = null;
    for (const shift of shifts) {
      const lefts = [label.x + 10, label.x - 10 - width, label.x - width / 2];
      for (const left of onlyRight ? lefts.slice(0, 1) : lefts) {
        if (shift === 0 && left === label.x - width / 2) continue;
        const box = { x: left, y: label.y + shift - LINE_HEIGHT / 2, width, height: LINE_HEIGHT };
        const outside = Math.max(0, -left) + Math.max(0, left + width - size.width - 16) +
          Math.max(0, -box.y) + Math.max(0, box.y + box.height - size.height);
        const cost = taken.reduce((sum, each) => sum + overlap(box, each), 0) + outside * 1e3 +
          Math.abs(shift) * 0.2;
        if (best === null || cost < best.cost) best = { ...box, cost };
      }
    }
    taken.push(best);
    return { ...label, x: best.x, y: best.y + LINE_HEIGHT / 2 };
  });
}

// Single points with their names next to them.
function points(spec, look) {
  const size = { width: look.width - 62 - 20, height: 320, left: 62, right: 20, top: 12, bottom: 46 };
  const all = (key) => spec.series.flatMap((each) => each[key]);
  const x = plotlyAxis(spec.x, all("x"), size.width, look);
  x.range = [x.range[0], x.range[1] + (x.range[1] - x.range[0]) * Math.min(0.45, 110 / size.width)];
  Object.assign(x, ticksOf(spec.x, x.range, size.width));
  const y = plotlyAxis(spec.y, [...all("y"), ...all("low"), ...all("high")], size.height, look);
  const drawn = spec.series.map((series, place) => ({ series, mark: markOf(series, place, look) }));
  const labels = drawn.filter(({ series, mark }) => series.x.length && !mark.quiet).map(({ series, mark }) => ({
    text: cut(series.name, look), colour: mark.colour,
    x: pixelOf(spec.x, x.range, series.x[0], size.width),
    y: size.height - pixelOf(spec.y, y.range, series.y[0], size.height),
  }));
  const placed = placedNear(labels, size);
  return {
    traces: drawn.map(({ series, mark }) => scatter(spec, series, mark, {
      mode: "markers", error_y: errorBars(series, series.y, mark.colour) })),
    layout: baseLayout(size, look, { xaxis: x, yaxis: y, annotations: placed.map((each) => annotation(each, look)) }),
  };
}

function heat(spec, look) {
  const left = nameMargin(spec.y.names, look);
  const size = { width: look.width - left - 16, height: Math.max(spec.y.names.length * 34, 90),
    left, right: 16, top: 8, bottom: 46 };
  const { z, top } = spec.data;
  const small = size.width / spec.x.names.length < 36;
  const texts = z.map((row) => row.map((each) => (each === null ? "–" : each.toFixed(small ? 1 : 2))));
  return {
    traces: [{ type: "heatmap", x: spec.x.names, y: spec.y.names, z, zmin: 0, zmax: top,
      colorscale: "Cividis", showscale: false, xgap: 2, ygap: 2, text: texts, texttemplate: "%{text}",
      textfont: { size: small ? 10 : 12 }, hoverongaps: false,
      hovertemplate: `${spec.y.title} %{y}<br>${spec.x.title} %{x}<br><b>%{z:.3g}</b><extra></extra>` }],
    layout: baseLayout(size, look, {
      xaxis: { ...plotlyAxis(spec.x, [], size.width, look), categoryarray: spec.x.names, showgrid: false,
        tickmode: "array", tickvals: spec.x.names.filter((_, at) => !small || at % 2 === 0) },
      yaxis: { ...plotlyAxis(spec.y, [], size.height, look, { title: { text: "" } }), showgrid: false },
      dragmode: false }),
  };
}

// Bars of parts: a part has a colour, a pattern and, where it is wide enough, its share in numbers.
function stack(spec, look) {
  const left = nameMargin(spec.y.names, look);
  const rows = Math.ceil((spec.series.length * 125) / Math.max(look.width - left, 125));
  const size = { width: look.width - left - 24, height: Math.max(spec.y.names.length * 34, 60), left,
    right: 24, top: 12 + 22 * rows, bottom: 46 };
  const total = spec.y.names.map((name) => spec.series.reduce(
    (sum, each) => sum + (each.x[each.y.indexOf(name)] ?? 0), 0));
  const most = spec.x.unit === "percent" ? 100 : Math.max(...total, 1e-9);
  const placeOf = (series, at) => spec.data.places?.[series.name] ?? at;
  const traces = spec.series.map((series, at) => [series, placeOf(series, at)]).map(([series, place]) => {
    const hue = place === 0 ? look.ink2 : look.hues[place % 8];
    return {
    type: "bar", orientation: "h", name: series.name, x: series.x, y: series.y,
    customdata: series.x.map((_, at) => hoverText(spec, series, at)),
    hovertemplate: "%{customdata}<extra></extra>",
    text: series.x.map((each) => (each / most > 0.09 ? formatted(each, spec.x.unit) : "")),
    textposition: "inside", insidetextanchor: "middle", textangle: 0,
    textfont: { color: look.ink, size: 12 },
    marker: { color: look.paper, line: { color: hue, width: 1.5 },
      pattern: { shape: PATTERNS[(place + 3 * Math.floor(place / 8)) % PATTERNS.length], solidity: 0.2, size: 8,
        fgcolor: hue, bgcolor: look.paper, fgopacity: 0.6 } },
    };
  });
  return { traces, layout: baseLayout(size, look, {
    barmode: "stack", bargap: 0.3, showlegend: true, legend: legendAbove(look), dragmode: false,
    xaxis: plotlyAxis(spec.x, [0, most], size.width, look, { range: [0, most] }),
    yaxis: plotlyAxis(spec.y, [], size.height, look, { ticklen: 0, title: { text: "" } }) }) };
}

// Threads, the lock and processors as rows; each slice has the colour and pattern of its state.
function timeline(spec, look) {
  const { rows, states, slices, from, to } = spec.data;
  const left = nameMargin(rows, look);
  const size = { width: look.width - left - 16, height: rows.length * 30, left, right: 16,
    top: 12 + 22 * Math.ceil((states.length * 165) / Math.max(look.width - left, 165)), bottom: 46 };
  const traces = states.map((state, at) => {
    const mine = slices.filter((each) => each[3] === at);
    const hue = state.hue < 0 ? look.ink2 : look.hues[state.hue];
    return {
      type: "bar", orientation: "h", name: state.name, y: mine.map((each) => rows[each[0]]),
      base: mine.map((each) => each[1]), x: mine.map((each) => each[2]), width: 0.72, showlegend: true,
      text: mine.map((each) => each[4]), textposition: "inside", insidetextanchor: "middle", textangle: 0,
      textfont: { color: look.ink2, size: 11 },
      customdata: mine.map((each) => `<b>${rows[each[0]]}</b>: ${state.name}<br>` +
        `${formatted(each[2], "ns")}, from ${formatted(each[1], "ns")}${each[4] ? `<br>${each[4]}` : ""}`),
      hovertemplate: "%{customdata}<extra></extra>",
      marker: { color: state.solid ? hue : look.paper, line: { color: hue, width: 1 },
        pattern: state.solid ? undefined : { shape: state.pattern, fgcolor: hue, bgcolor: look.paper,
          size: 6, solidity: 0.3 } },
    };
  });
  const bounds = [from, to].map((at) => ({ type: "line", yref: "paper", y0: 0, y1: 1, x0: at, x1: at,
    line: { color: look.ink, width: 1.25, dash: "4px,3px" } }));
  const x = plotlyAxis(spec.x, [], size.width, look, { range: spec.data.range });
  return { traces, layout: baseLayout(size, look, { barmode: "overlay", shapes: bounds, xaxis: x,
    uniformtext: { mode: "hide", minsize: 10 },
    showlegend: true, legend: legendAbove(look), dragmode: look.coarse ? false : "zoom",
    yaxis: { ...plotlyAxis({ ...spec.y, names: rows }, [], size.height, look, { title: { text: "" } }),
      ticklen: 0 } }) };
}

const KINDS = { lines, dots, points, heat, stack, timeline };
