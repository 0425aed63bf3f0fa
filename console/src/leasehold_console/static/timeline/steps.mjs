// How much of a row that several share is used, as steps. Pure.

/**
 * @typedef {object} Steps
 * @property {Int32Array} first for each row the position of its first step; one more at the end
 * @property {Float64Array} time from when on
 * @property {Float32Array} share of the resource that is used, 0 to 1: of the class of which least is left
 * @property {Float32Array} parts the same of those bars alone that take a part; 0 while one takes the whole
 * @property {Float32Array} own the same of the parts that are the caller's
 */

/**
 * @param {import("./bars.mjs").Bars} bars
 * @param {Int32Array} amountOf for each bar, into `amounts`; -1: the whole resource
 * @param {Record<string, number[]>} amounts by resource class
 * @param {Record<string, (number | null)[]>} capacity by resource class, for each row
 * @param {(bar: number) => boolean} isOwn whether a bar is the caller's
 * @returns {Steps} rows whose bars take the whole resource have none
 */
export function indexSteps(bars, amountOf, amounts, capacity, isOwn) {
  const rows = bars.first.length - 1;
  const first = new Int32Array(rows + 1);
  /** @type {number[]} */
  const times = [];
  /** @type {number[]} */
  const shares = [];
  /** @type {number[]} */
  const parts = [];
  /** @type {number[]} */
  const owns = [];
  const classes = Object.keys(amounts);
  for (let row = 0; row < rows; row += 1) {
    const low = bars.first[row] ?? 0;
    const high = bars.first[row + 1] ?? 0;
    let shared = false;
    for (let bar = low; bar < high && !shared; bar += 1) shared = /** @type {number} */ (amountOf[bar]) >= 0;
    if (shared) addRow(row, low, high);
    first[row + 1] = times.length;
  }
  return { first, time: Float64Array.from(times), share: Float32Array.from(shares), parts: Float32Array.from(parts), own: Float32Array.from(owns) };

  /** @param {number} row @param {number} low @param {number} high */
  function addRow(row, low, high) {
    /** @type {[number, number, number][]} */
    const changes = [];
    for (let bar = low; bar < high; bar += 1) changes.push([bars.start[bar] ?? 0, bar, 1], [bars.end[bar] ?? 0, bar, -1]);
    // At one moment what ends goes before what starts.
    changes.sort((one, other) => one[0] - other[0] || one[2] - other[2]);
    const used = new Map(classes.map((name) => [name, 0]));
    const own = new Map(used);
    let whole = 0;
    for (const [at, [time, bar, sign]] of changes.entries()) {
      const amount = /** @type {number} */ (amountOf[bar]);
      if (amount < 0) whole += sign;
      else {
        for (const name of classes) {
          const change = sign * (amounts[name]?.[amount] ?? 0);
          used.set(name, (used.get(name) ?? 0) + change);
          if (isOwn(bar)) own.set(name, (own.get(name) ?? 0) + change);
        }
      }
      if (changes[at + 1]?.[0] === time) continue;
      times.push(time);
      shares.push(whole > 0 ? 1 : share(row, used));
      parts.push(whole > 0 ? 0 : share(row, used));
      owns.push(whole > 0 ? 0 : share(row, own));
    }
  }

  /** @param {number} row @param {Map<string, number>} used */
  function share(row, used) {
    let most = 0;
    for (const [name, amount] of used) {
      const total = capacity[name]?.[row];
      if (amount > 0 && total) most = Math.max(most, amount / total);
    }
    return Math.min(1, most);
  }
}

/** Whether several share a row. @param {Steps} steps @param {number} row */
export function isShared(steps, row) {
  return (steps.first[row + 1] ?? 0) > (steps.first[row] ?? 0);
}
