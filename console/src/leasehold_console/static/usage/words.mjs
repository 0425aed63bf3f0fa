// Usage as the page says it: days one above the other, and who has the most idle. Pure.

import { DAY } from "../core/time.mjs";

/** @typedef {import("../../../../types/api").UsageRow} Row */

export const LAYERS = /** @type {const} */ (["idle", "used", "late", "missing", "given_up"]);
const MOST = 10;

/** What of the time was active and not known to be used. @param {Row} row */
export function unused(row) {
  return Math.max(0, row.active - (row.used ?? 0));
}

/** The hours of a layer in a row. @param {Row} row @param {typeof LAYERS[number]} layer */
function hours(row, layer) {
  return layer === "idle" ? unused(row) : row[layer] ?? 0;
}

/**
 * The days of a window, in seconds, and the height of each layer on them, with those below it; after the last day comes the end, so
 * that it is drawn whole. The highest layer is the first: each later one is drawn over it.
 * @param {readonly Row[]} rows @param {number} from milliseconds @param {number} to
 */
export function stacked(rows, from, to) {
  /** @type {number[]} */
  const days = [];
  for (let day = Math.floor(from / DAY) * DAY; day < to; day += DAY) days.push(day);
  const heights = LAYERS.map((_, index) => {
    const column = days.map((day) => {
      const mine = rows.filter((row) => row.day !== null && Date.parse(row.day) === day);
      return mine.reduce((all, row) => all + LAYERS.slice(0, index + 1).reduce((sum, layer) => sum + hours(row, layer), 0), 0);
    });
    return [...column, column.at(-1) ?? 0];
  });
  return { days: [...days, Math.ceil(to / DAY) * DAY].map((day) => day / 1000), heights: heights.reverse() };
}

/** The resource types of rows, in order. @param {readonly Row[]} rows */
export function types(rows) {
  return [...new Set(rows.flatMap((row) => (row.resource_type === null ? [] : [row.resource_type])))].sort();
}

/** The ten rows with the most idle time, then with the most that was held. @param {readonly Row[]} rows */
export function largest(rows) {
  return [...rows].sort((one, other) => unused(other) - unused(one) || other.held - one.held).slice(0, MOST);
}
