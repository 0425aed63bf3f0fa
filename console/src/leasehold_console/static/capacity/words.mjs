// How much there is, over past and future. Pure.

import { parse } from "../core/time.mjs";

/** @typedef {import("../../../../types/api").TimelineAnswer} Timeline */
/** @typedef {import("../../../../types/api").AvailabilityAnswer} Availability */

/**
 * What counts from a moment on, until the next step; null: it is not known.
 * @typedef {{at: number, reserved: number, free: number | null, heldBack: number | null, total: number | null}} Step in milliseconds
 */

/**
 * What was reserved in a past window: how many of the rows had a bar, whatever kind it was.
 * How many resources there were is not recorded.
 * @param {Timeline} timeline a window that ends now
 * @returns {Step[]}
 */
export function past({ from, to, bars }) {
  const begin = parse(from);
  const length = (parse(to) - begin) / 1000;
  /** How much the number changes at a second. @type {Map<number, number>} */
  const changes = new Map([[0, 0]]);
  /** @param {number} at @param {number} by */
  const change = (at, by) => changes.set(at, (changes.get(at) ?? 0) + by);
  // Bars are sorted by row and start; those of a row may overlap, where several share a host.
  let [row, covered] = [-1, 0];
  for (const [index, mine] of bars.row.entries()) {
    if (mine !== row) [row, covered] = [mine, 0];
    const start = Math.max(bars.start[index] ?? 0, covered);
    const told = bars.end[index] ?? -1;
    const end = told < 0 ? length : Math.min(told, length);
    if (end <= start) continue;
    change(start, 1);
    change(end, -1);
    covered = end;
  }
  let reserved = 0;
  return [...changes]
    .sort(([one], [other]) => one - other)
    .filter(([at]) => at < length)
    .map(([at, by]) => ({ at: begin + at * 1000, reserved: (reserved += by), free: null, heldBack: null, total: null }));
}

/** What is promised in a window from now on. @param {Availability} found @returns {Step[]} */
export function future({ steps, total, held_back: heldBack }) {
  return steps.from.map((at, index) => ({ at: parse(at), reserved: steps.reserved[index] ?? 0, free: steps.free[index] ?? 0, heldBack, total }));
}

/**
 * Steps as columns for a chart, in seconds; the last step lasts until the end.
 * @param {readonly Step[]} steps ascending @param {number} end
 * @returns {[number[], (number | null)[], (number | null)[], (number | null)[], (number | null)[]]}
 */
export function columnsOf(steps, end) {
  const last = steps.at(-1);
  const all = last && last.at < end ? [...steps, { ...last, at: end }] : [...steps];
  return [all.map((each) => each.at / 1000), all.map((each) => each.total), all.map((each) => each.reserved), all.map((each) => each.heldBack), all.map((each) => each.free)];
}
