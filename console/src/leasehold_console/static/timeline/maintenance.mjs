// The maintenance window that a drag means: on any hosts, whoever has them, and which leases are there. Pure.

import { highest, lowest } from "./bars.mjs";

/** @typedef {import("./model.mjs").Model} Model */

/** Whether a row can have a maintenance window: operators know it by its id, and it is enrolled. @param {Model} model @param {number} row */
export function canClose(model, row) {
  return row >= 0 && model.identified[row] === true && model.states[row] !== "removed";
}

/**
 * The window that a drag means: from one moment to another, on all rows that can have one, and not before now.
 * @param {Model} model @param {number[]} rows @param {number} anchor where it began @param {number} pointer where it is
 * @param {number} step moments are multiples of it @param {number} now
 * @returns {import("./draft.mjs").Draft}
 */
export function windowOf(model, rows, anchor, pointer, step, now) {
  const first = Math.floor(Math.min(anchor, pointer) / step) * step;
  const last = Math.max(first + step, Math.ceil(Math.max(anchor, pointer) / step) * step);
  const early = first < now;
  const start = early ? Math.ceil(now / 60) * 60 : first;
  return {
    rows: rows.filter((row) => canClose(model, row)),
    start,
    end: Math.max(last, start + step),
    stop: early ? { reason: "now", at: now, bar: -1, cleaning: 0 } : null,
  };
}

/**
 * The leases that have any of some rows in a part of time, other windows too, in the order of rows and starts.
 * @param {Model} model @param {readonly number[]} rows @param {number} from @param {number} to
 * @returns {number[]} positions in the leases
 */
export function inTheWay(model, rows, from, to) {
  /** @type {Set<number>} */
  const found = new Set();
  for (const row of rows) {
    const high = highest(model.bars, row, to);
    for (let bar = lowest(model.bars, row, from); bar < high; bar += 1) {
      const lease = /** @type {number} */ (model.leaseOf[bar]);
      if (lease >= 0 && /** @type {number} */ (model.bars.end[bar]) > from) found.add(lease);
    }
  }
  return [...found];
}
