// SPDX-License-Identifier: Apache-2.0
// Numbers with units, and the places of ticks.

const SCALES = {
  ns: [[1e9, "s"], [1e6, "ms"], [1e3, "µs"], [1, "ns"]],
  per_s: [[1e9, "G/s"], [1e6, "M/s"], [1e3, "k/s"], [1, "/s"]],
  number: [[1e9, "G"], [1e6, "M"], [1e4, "k"], [1, ""]],
};

// Returns the number with three digits, or with as many as it takes if it is a tick.
function formatted(value, unit, isTick = false) {
  if (value === null || value === undefined) return "–";
  if (typeof value === "string") return value;
  const digits = (number) => String(Number(number.toPrecision(isTick ? 6 : 3)));
  if (unit === "percent") return `${digits(value)} %`;
  if (unit === "times") return `${digits(value)}×`;
  if (unit === "nines") return `${digits(100 * (1 - 10 ** -value))} %`;
  if (unit === "nines" || value === 0) return "0";
  const scales = SCALES[unit] ?? SCALES.number;
  const [scale, name] =
    scales.find(([least]) => Math.abs(value) >= least * 0.9995) ?? scales[scales.length - 1];
  const factor = unit === "number" && scale === 1e4 ? 1e3 : scale;
  return `${digits(value / factor)}${name ? ` ${name}` : ""}`;
}

// A share as HdrHistogram's plots label it: more nines for a more distant tail.
function shareOfNines(nines) {
  if (nines <= 0) return "0 %";
  const rest = 100 * 10 ** -nines;
  return `${(100 - rest).toFixed(Math.max(0, Math.ceil(-Math.log10(rest) - 1e-9)))} %`;
}

function linearTicks(low, high, most) {
  const raw = (high - low) / Math.max(most, 2);
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((each) => each * power).find((each) => each >= raw);
  const found = [];
  for (let at = Math.ceil(low / step - 1e-9) * step; at <= high + step * 1e-9; at += step) {
    found.push(Number(at.toPrecision(12)));
  }
  return found;
}

// Returns the ticks of a logarithmic axis; low and high are exponents.
function logTicks(low, high, most) {
  const decades = high - low;
  const steps = decades < 1.3 ? [1, 2, 3, 5, 7] : decades < 2.6 ? [1, 2, 5] : [1];
  const every = Math.max(1, Math.ceil((decades * steps.length) / Math.max(most, 2) / steps.length));
  const found = [];
  for (let power = Math.floor(low); power <= Math.ceil(high); power += 1) {
    if ((power - Math.ceil(low)) % every) continue;
    for (const step of steps) {
      const at = step * 10 ** power;
      if (Math.log10(at) >= low - 1e-9 && Math.log10(at) <= high + 1e-9) found.push(at);
    }
  }
  return found;
}

// Returns Plotly's tick properties for a range, which is in exponents if the axis is logarithmic.
function ticksOf(axis, [low, high], pixels) {
  const most = Math.floor(pixels / 64);
  if (axis.unit === "nines") {
    const whole = [0, Math.log10(2), 1, 2, 3, 4, 5, 6, 7, 8, 9];
    const vals = whole.filter((each) => each >= low - 1e-9 && each <= high + 1e-9);
    const close = pixels / Math.max(high - low, 1e-9) < 130;
    const wide = pixels / Math.max(high - low, 1e-9) < 68;
    const kept = vals.filter((each) => !(close && each > 0 && each < 1) && !(wide && each % 2 === 1));
    return { tickvals: kept, ticktext: kept.map(shareOfNines) };
  }
  const inside = axis.only?.filter((each) => Math.log10(each) >= low && Math.log10(each) <= high);
  const vals = inside?.length > 1 ? inside : axis.log ? logTicks(low, high, most) : linearTicks(low, high, most);
  return { tickvals: vals, ticktext: vals.map((each) => formatted(each, axis.unit, true)) };
}
