// Where a moment is on the screen. Pure; times are seconds since 1970, places are pixels from the left edge of the picture.

/** @typedef {{from: number, to: number, width: number}} Scale */

export const SHORTEST = 3600;
export const LONGEST = 130 * 86400;

/** @param {Scale} scale @param {number} time */
export function place(scale, time) {
  return ((time - scale.from) / (scale.to - scale.from)) * scale.width;
}

/** @param {Scale} scale @param {number} x */
export function timeAt(scale, x) {
  return scale.from + (x / scale.width) * (scale.to - scale.from);
}

/** Seconds that one pixel is. @param {Scale} scale */
export function perPixel(scale) {
  return (scale.to - scale.from) / scale.width;
}

/** Another part of time at the same size. @param {Scale} scale @param {number} pixels to the right is later @returns {Scale} */
export function panned(scale, pixels) {
  const shift = Math.round(pixels * perPixel(scale));
  return { ...scale, from: scale.from + shift, to: scale.to + shift };
}

/**
 * More or less of it, so that one place keeps its moment.
 * @param {Scale} scale @param {number} factor below 1 shows less time @param {number} x
 * @returns {Scale}
 */
export function zoomed(scale, factor, x) {
  const span = scale.to - scale.from;
  const wanted = Math.min(LONGEST, Math.max(SHORTEST, Math.round(span * factor)));
  const from = Math.round(timeAt(scale, x) - (x / scale.width) * wanted);
  return { ...scale, from, to: from + wanted };
}

/**
 * Marks of the axis: how far they are apart, and how much is named above them.
 * @typedef {{step: number, unit: "hour" | "day" | "month", label: "clock" | "weekday" | "day", above: "day" | "month"}} Ticks
 */

const H = 3600;
const D = 86400;
/** @type {readonly (readonly [number, Ticks["label"], Ticks["above"]])[]} */
const STEPS = [
  [300, "clock", "day"],
  [900, "clock", "day"],
  [1800, "clock", "day"],
  [H, "clock", "day"],
  [3 * H, "clock", "day"],
  [6 * H, "clock", "day"],
  [12 * H, "clock", "day"],
  [D, "weekday", "month"],
  [2 * D, "weekday", "month"],
  [7 * D, "day", "month"],
  [14 * D, "day", "month"],
];

/** The marks that leave so many pixels for each label. @param {Scale} scale @param {number} [room] @returns {Ticks} */
export function ticks(scale, room = 64) {
  const least = room * perPixel(scale);
  const [step, label, above] = STEPS.find(([length]) => length >= least) ?? /** @type {typeof STEPS[number]} */ (STEPS[STEPS.length - 1]);
  return { step, unit: step < D ? "hour" : "day", label, above };
}

/** How finely a drag sets times. @param {Scale} scale */
export function snap(scale) {
  const least = 4 * perPixel(scale);
  return [300, 900, 1800, H, 3 * H, 6 * H, 12 * H].find((step) => step >= least) ?? D;
}
