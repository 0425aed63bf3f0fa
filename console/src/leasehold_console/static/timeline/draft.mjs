// How far a drag may go: what is free is known here, so it stops where a request would be refused, and says why. Pure.

import { gapAt, highest, segmentAt } from "./bars.mjs";

/** @typedef {import("./model.mjs").Model} Model */

/**
 * Why a drag went no further than this.
 * @typedef {{reason: "now" | "before" | "after" | "end", at: number, bar: number, cleaning: number}} Stop
 *   before, after: the bar beside it and the time for cleaning; end: nothing is known after it
 *
 * @typedef {object} Draft
 * @property {number[]} rows
 * @property {number} start
 * @property {number} end
 * @property {Stop | null} stop the bound that was reached
 */

/** Whether a lease may begin on a row at a moment. @param {Model} model @param {number} row @param {number} time @param {number} now */
export function isFree(model, row, time, now) {
  if (model.closed[row] || time < now) return false;
  return segmentAt(model.bars, row, time, model.cleaning[row] ?? 0).kind === "free";
}

/**
 * The lease that a drag means: from one moment to another, on those rows that are free at the first.
 * @param {Model} model @param {number[]} rows @param {number} anchor where it began @param {number} pointer where it is
 * @param {number} step moments are multiples of it @param {number} now
 * @returns {Draft}
 */
export function draftOf(model, rows, anchor, pointer, step, now) {
  const free = rows.filter((row) => isFree(model, row, anchor, now));
  /** @type {Stop} */
  let low = { reason: "now", at: now, bar: -1, cleaning: 0 };
  /** @type {Stop} */
  let high = { reason: "end", at: model.to, bar: -1, cleaning: 0 };
  for (const row of free) {
    const cleaning = model.cleaning[row] ?? 0;
    const gap = gapAt(model.bars, row, anchor, cleaning);
    if (gap.start > low.at) low = { reason: "before", at: gap.start, bar: gap.before, cleaning };
    if (gap.end < high.at) high = { reason: "after", at: gap.end, bar: gap.after, cleaning };
  }
  const later = pointer >= anchor;
  const first = Math.floor(Math.min(anchor, pointer) / step) * step;
  const last = Math.max(first + step, Math.ceil(Math.max(anchor, pointer) / step) * step);
  const start = Math.max(low.at, first);
  const end = Math.min(high.at, last);
  const stop = later ? (last > high.at ? high : null) : first < low.at ? low : null;
  return { rows: free, start, end, stop };
}

/** The rows that a lease has, and of each the last of its bars. @param {Model} model @param {number} lease @returns {Map<number, number>} */
export function barsOfLease(model, lease) {
  /** @type {Map<number, number>} */
  const found = new Map();
  let row = 0;
  for (let bar = 0; bar < model.leaseOf.length; bar += 1) {
    while (bar >= (model.bars.first[row + 1] ?? Infinity)) row += 1;
    if (model.leaseOf[bar] === lease && model.kinds[bar] === "lease") found.set(row, bar);
  }
  return found;
}

/**
 * How late a lease can end: until the next bar of any of its rows, less the time for cleaning.
 * @param {Model} model @param {number} lease
 * @returns {Stop}
 */
export function latestEnd(model, lease) {
  /** @type {Stop} */
  let bound = { reason: "end", at: model.to, bar: -1, cleaning: 0 };
  for (const [row, own] of barsOfLease(model, lease)) {
    const cleaning = model.cleaning[row] ?? 0;
    const end = /** @type {number} */ (model.bars.end[own]);
    const last = model.bars.first[row + 1] ?? 0;
    for (let bar = highest(model.bars, row, end); bar < last; bar += 1) {
      if (model.leaseOf[bar] === lease) continue;
      const at = /** @type {number} */ (model.bars.start[bar]) - cleaning;
      if (at < bound.at) bound = { reason: "after", at, bar, cleaning };
      break;
    }
  }
  return bound;
}

/**
 * The end that a drag of a lease's edge means.
 * @param {Model} model @param {number} lease @param {number} pointer @param {number} step @param {number} now
 * @returns {{end: number, stop: Stop | null}}
 */
export function extensionOf(model, lease, pointer, step, now) {
  const bound = latestEnd(model, lease);
  const start = model.leases[lease]?.start ?? now;
  const wanted = Math.round(pointer / step) * step;
  const least = Math.max(start, now) + 60;
  return { end: Math.max(least, Math.min(wanted, bound.at)), stop: wanted > bound.at ? bound : null };
}
