import assert from "node:assert/strict";
import { test } from "node:test";
import { columnsOf, expectation, future, past } from "../src/leasehold_console/static/capacity/words.mjs";

const FROM = "2026-01-01T10:00:00Z";
const BEGIN = Date.parse(FROM);

/** A timeline of so many seconds with bars [row, start, end]. */
function timeline(length, bars) {
  const column = (index) => bars.map((bar) => bar[index]);
  return { from: FROM, to: new Date(BEGIN + length * 1000).toISOString(), bars: { row: column(0), start: column(1), end: column(2) } };
}

test("what was reserved agrees with a count at each second", () => {
  let state = 7;
  const random = (below) => {
    state = (state * 1103515245 + 12345) & 0x7fffffff;
    return state % below;
  };
  for (let round = 0; round < 100; round += 1) {
    const bars = [];
    for (let row = 0; row < 4; row += 1) {
      const starts = Array.from({ length: random(5) }, () => random(50)).sort((one, other) => one - other);
      for (const start of starts) bars.push([row, start, random(6) ? start + 1 + random(20) : -1]);
    }
    const length = 60;
    const steps = past(timeline(length, bars));
    for (let second = 0; second < length; second += 1) {
      const rows = new Set(bars.filter(([, start, end]) => start <= second && (end < 0 || second < end)).map(([row]) => row));
      const step = steps.filter(({ at }) => at <= BEGIN + second * 1000).at(-1);
      assert.equal(step.reserved, rows.size, `round ${round}, second ${second}`);
    }
  }
});

test("a window in which nothing was reserved has one step, of none", () => {
  assert.deepEqual(past(timeline(60, [])), [{ at: BEGIN, reserved: 0, free: null, heldBack: null, total: null }]);
});

test("the last step lasts until the end", () => {
  const steps = future({ total: 5, held_back: 1, steps: { from: [FROM, "2026-01-01T11:00:00Z"], free: [4, 1], reserved: [0, 3] } });
  const end = BEGIN + 7_200_000;
  assert.deepEqual(columnsOf(steps, end), [
    [BEGIN / 1000, BEGIN / 1000 + 3600, end / 1000],
    [5, 5, 5],
    [0, 3, 3],
    [1, 1, 1],
    [4, 1, 1],
    [null, null, null],
  ]);
  assert.deepEqual(columnsOf([], end)[0], []);
});

test("what is expected lasts until the next step, and begins with its first one that is shown", () => {
  const steps = future({ total: 5, held_back: 0, steps: { from: [FROM, "2026-01-01T11:30:00Z"], free: [4, 1], reserved: [1, 4] } });
  const end = BEGIN + 2.5 * 3_600_000;
  const from = ["2026-01-01T09:00:00Z", "2026-01-01T11:00:00Z", "2026-01-01T12:00:00Z"];
  const expected = expectation({ steps: { from, expected_median: [7, 3, 2] } });
  assert.deepEqual(columnsOf(steps, end, expected), [
    [0, 1, 1.5, 2, 2.5].map((hour) => BEGIN / 1000 + hour * 3600),
    [5, 5, 5, 5, 5],
    [1, 1, 4, 4, 4],
    [0, 0, 0, 0, 0],
    [4, 4, 1, 1, 1],
    [7, 3, 3, 2, 2],
  ]);
  assert.deepEqual(expectation({ steps: { from, expected_median: null } }), []);
});
