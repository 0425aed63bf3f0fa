// How much there is, over past and future. Pure.

import { parse } from "../core/time.mjs";

/** @typedef {import("../../../../types/api").TimelineAnswer} Timeline */
/** @typedef {import("../../../../types/api").AvailabilityAnswer} Availability */
/** @typedef {import("../../../../types/api").ForecastAnswer} Forecast */

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

/** What past weeks let one expect, from each moment on; nothing without enough of them. @param {Forecast} found @returns {{at: number, expected: number}[]} */
export function expectation({ steps }) {
  return (steps.expected_median ?? []).map((expected, index) => ({ at: parse(steps.from[index] ?? ""), expected }));
}

/**
 * Steps as columns for a chart, in seconds; the last step lasts until the end. The last column is what is expected.
 * @param {readonly Step[]} steps ascending @param {number} end @param {readonly {at: number, expected: number}[]} [expected] ascending
 * @returns {[number[], ...(number | null)[][]]}
 */
export function columnsOf(steps, end, expected = []) {
  const first = steps[0]?.at ?? end;
  const moments = [...steps, ...expected].map(({ at }) => at).filter((at) => at >= first && at < end);
  const times = steps.length ? [...new Set([...moments, end])].sort((one, other) => one - other) : [];
  let [step, next] = [0, 0];
  const all = times.map((at) => {
    while ((steps[step + 1]?.at ?? Infinity) <= at) step += 1;
    while ((expected[next]?.at ?? Infinity) <= at) next += 1;
    return { ...steps[step], expected: expected[next - 1]?.expected };
  });
  /** @param {"total" | "reserved" | "heldBack" | "free" | "expected"} key */
  const column = (key) => all.map((each) => each[key] ?? null);
  return [times.map((at) => at / 1000), column("total"), column("reserved"), column("heldBack"), column("free"), column("expected")];
}
