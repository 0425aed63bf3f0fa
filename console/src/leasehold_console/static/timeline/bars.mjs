// The index of bars: which of a row are in a part of time, and what is free between them. Pure.

/**
 * Bars sorted by row and start. Where bars of a row overlap, ends do not ascend, so the running maximum of the ends of
 * a row is kept beside them, and bisected.
 * @typedef {object} Bars
 * @property {Int32Array} first for each row the position of its first bar; one more at the end
 * @property {Float64Array} start
 * @property {Float64Array} end
 * @property {Float64Array} latest the latest end of the row up to this bar
 */

/**
 * @param {number} rows @param {ArrayLike<number>} rowOf ascending @param {Float64Array} start @param {Float64Array} end
 * @returns {Bars}
 */
export function indexBars(rows, rowOf, start, end) {
  const first = new Int32Array(rows + 1);
  const latest = new Float64Array(start.length);
  for (let bar = 0; bar < start.length; bar += 1) {
    const row = rowOf[bar] ?? 0;
    first[row + 1] = bar + 1;
    const before = bar > 0 && rowOf[bar - 1] === row ? /** @type {number} */ (latest[bar - 1]) : -Infinity;
    latest[bar] = Math.max(before, /** @type {number} */ (end[bar]));
  }
  for (let row = 1; row <= rows; row += 1) first[row] = Math.max(/** @type {number} */ (first[row]), /** @type {number} */ (first[row - 1]));
  return { first, start, end, latest };
}

/** The position of the first value of a part of a sorted array that is above a limit. @param {Float64Array} values @param {number} low @param {number} high @param {number} limit */
export function firstAbove(values, low, high, limit) {
  while (low < high) {
    const middle = (low + high) >> 1;
    if (/** @type {number} */ (values[middle]) > limit) high = middle;
    else low = middle + 1;
  }
  return low;
}

/** The position of the first value that is a limit or above it. @param {Float64Array} values @param {number} low @param {number} high @param {number} limit */
export function firstFrom(values, low, high, limit) {
  while (low < high) {
    const middle = (low + high) >> 1;
    if (/** @type {number} */ (values[middle]) >= limit) high = middle;
    else low = middle + 1;
  }
  return low;
}

/** The first bar of a row that ends after a moment; some after it may end before. @param {Bars} bars @param {number} row @param {number} from */
export function lowest(bars, row, from) {
  return firstAbove(bars.latest, bars.first[row] ?? 0, bars.first[row + 1] ?? 0, from);
}

/** One after the last bar of a row that starts before a moment. @param {Bars} bars @param {number} row @param {number} to */
export function highest(bars, row, to) {
  return firstFrom(bars.start, bars.first[row] ?? 0, bars.first[row + 1] ?? 0, to);
}

/** The bar of a row at a moment that starts last, or -1. @param {Bars} bars @param {number} row @param {number} time */
export function barAt(bars, row, time) {
  const low = lowest(bars, row, time);
  for (let bar = highest(bars, row, time + 1e-6) - 1; bar >= low; bar -= 1) if (/** @type {number} */ (bars.end[bar]) > time) return bar;
  return -1;
}

/**
 * What is free around a moment at which no bar is: until the bars beside it, less the time for cleaning. The answer has
 * `start >= end` where that time takes all of it.
 * @param {Bars} bars @param {number} row @param {number} time @param {number} cleaning
 * @returns {{start: number, end: number, before: number, after: number}} before and after: the bars beside it, or -1
 */
export function gapAt(bars, row, time, cleaning) {
  const after = highest(bars, row, time);
  const low = bars.first[row] ?? 0;
  const high = bars.first[row + 1] ?? 0;
  const before = after > low ? after - 1 : -1;
  return {
    start: before < 0 ? -Infinity : /** @type {number} */ (bars.latest[before]) + cleaning,
    end: after < high ? /** @type {number} */ (bars.start[after]) - cleaning : Infinity,
    before,
    after: after < high ? after : -1,
  };
}

/**
 * A part of a row that is one thing: a bar, what is free, or what has to be clean before the next.
 * @typedef {{kind: "bar" | "free" | "cleaning", start: number, end: number, bar: number}} Segment
 */

/** @param {Bars} bars @param {number} row @param {number} time @param {number} cleaning @returns {Segment} */
export function segmentAt(bars, row, time, cleaning) {
  const bar = barAt(bars, row, time);
  if (bar >= 0) return { kind: "bar", start: /** @type {number} */ (bars.start[bar]), end: /** @type {number} */ (bars.end[bar]), bar };
  const { start, end, before, after } = gapAt(bars, row, time, cleaning);
  if (time >= start && time < end) return { kind: "free", start, end, bar: -1 };
  const left = before < 0 ? -Infinity : /** @type {number} */ (bars.latest[before]);
  const right = after < 0 ? Infinity : /** @type {number} */ (bars.start[after]);
  if (start >= end) return { kind: "cleaning", start: left, end: right, bar: -1 };
  return time < start ? { kind: "cleaning", start: left, end: start, bar: -1 } : { kind: "cleaning", start: end, end: right, bar: -1 };
}

/**
 * When a row is free next, from a moment on, for at least so long.
 * @param {Bars} bars @param {number} row @param {number} from @param {number} cleaning @param {number} [least] seconds
 * @returns {{start: number, end: number}}
 */
export function nextFree(bars, row, from, cleaning, least = 1) {
  const high = bars.first[row + 1] ?? 0;
  let start = from;
  for (let bar = lowest(bars, row, from - cleaning); bar < high; bar += 1) {
    const end = /** @type {number} */ (bars.start[bar]) - cleaning;
    if (end - start >= least) return { start, end };
    start = Math.max(start, /** @type {number} */ (bars.latest[bar]) + cleaning);
  }
  return { start, end: Infinity };
}

/**
 * Gives each bar of a row a lane, so that no two bars of a lane overlap; as few lanes as that takes.
 * @param {Bars} bars @param {number} row
 * @returns {{lanes: number, of: Int32Array}} `of` begins with the first bar of the row
 */
export function lanesOf(bars, row) {
  const low = bars.first[row] ?? 0;
  const high = bars.first[row + 1] ?? 0;
  const of = new Int32Array(high - low);
  /** @type {number[]} */
  const ends = [];
  for (let bar = low; bar < high; bar += 1) {
    let lane = ends.findIndex((end) => end <= /** @type {number} */ (bars.start[bar]));
    if (lane < 0) lane = ends.push(0) - 1;
    ends[lane] = /** @type {number} */ (bars.end[bar]);
    of[bar - low] = lane;
  }
  return { lanes: Math.max(1, ends.length), of };
}
