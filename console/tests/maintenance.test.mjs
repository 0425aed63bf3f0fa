import assert from "node:assert/strict";
import { test } from "node:test";
import { indexBars } from "../src/leasehold_console/static/timeline/bars.mjs";
import { canClose, inTheWay, windowOf } from "../src/leasehold_console/static/timeline/maintenance.mjs";

/** Rows with bars [row, start, end, lease], and as many of them as states. */
function model(states, bars = [], identified = true) {
  const [start, end] = [1, 2].map((at) => Float64Array.from(bars, (bar) => bar[at]));
  return {
    identified: states.map(() => identified),
    states,
    bars: indexBars(states.length, bars.map((bar) => bar[0]), start, end),
    leaseOf: Int32Array.from(bars, (bar) => bar[3]),
  };
}

test("a window is on every host that is enrolled, free or not", () => {
  const all = model(["ok", "failed", "disabled", "removed"], [[0, 0, 9000, 0]]);
  const found = windowOf(all, [0, 1, 2, 3], 7300, 3700, 3600, 0);
  assert.deepEqual(found, { rows: [0, 1, 2], start: 3600, end: 10800, stop: null });
});

test("it does not begin before now, and is never empty", () => {
  const found = windowOf(model(["ok"]), [0], 0, 100, 3600, 7230);
  assert.deepEqual([found.start, found.end, found.stop?.reason], [7260, 10860, "now"]);
});

test("who does not know which host is which cannot close it", () => {
  assert.equal(canClose(model(["ok"], [], false), 0), false);
  assert.equal(canClose(model(["ok"]), -1), false);
});

test("in the way is each lease with a bar in the time, once", () => {
  const all = model(["ok", "ok"], [[0, 0, 10, 0], [0, 5, 100, 1], [0, 50, 60, 2], [1, 0, 20, 1], [1, 20, 30, 3]]);
  assert.deepEqual(inTheWay(all, [0, 1], 10, 20), [1]);
  assert.deepEqual(inTheWay(all, [0, 1], 9, 55), [0, 1, 2, 3]);
  assert.deepEqual(inTheWay(all, [1], 30, 55), []);
});
