import assert from "node:assert/strict";
import { test } from "node:test";
import * as bars from "../src/leasehold_console/static/timeline/bars.mjs";
import { indexSteps } from "../src/leasehold_console/static/timeline/steps.mjs";

/** A generator of the same numbers every time. */
function random(seed) {
  let state = seed;
  return (below) => {
    state = (state * 1103515245 + 12345) & 0x7fffffff;
    return state % below;
  };
}

/** Rows of bars that may overlap, sorted as the API sorts them. */
function rowsOf(next, overlapping) {
  const found = [];
  for (let row = 0; row < 4; row += 1) {
    let time = 0;
    const count = next(7);
    const own = [];
    for (let at = 0; at < count; at += 1) {
      const start = overlapping ? next(60) : time + next(6);
      const end = start + 1 + next(9);
      time = end;
      own.push({ row, start, end });
    }
    own.sort((one, other) => one.start - other.start || one.end - other.end);
    found.push(...own);
  }
  return found;
}

function indexed(found) {
  return bars.indexBars(4, found.map((bar) => bar.row), Float64Array.from(found, (bar) => bar.start), Float64Array.from(found, (bar) => bar.end));
}

test("the bars of a part of time are those that a search of all finds", () => {
  for (let seed = 1; seed < 200; seed += 1) {
    const next = random(seed);
    const found = rowsOf(next, seed % 2 === 0);
    const index = indexed(found);
    for (let row = 0; row < 4; row += 1) {
      const from = next(70) - 5;
      const to = from + next(30);
      const slow = found.flatMap((bar, at) => (bar.row === row && bar.end > from && bar.start < to ? [at] : []));
      const low = bars.lowest(index, row, from);
      const high = bars.highest(index, row, to);
      const fast = [];
      for (let bar = low; bar < high; bar += 1) if (found[bar].end > from) fast.push(bar);
      assert.deepEqual(fast, slow, `seed ${seed}, row ${row}, ${from} to ${to}`);
    }
  }
});

test("a moment is in a bar, free, or between two that are too near, as counting says", () => {
  for (let seed = 1; seed < 200; seed += 1) {
    const next = random(seed * 7);
    const found = rowsOf(next, seed % 2 === 0);
    const index = indexed(found);
    const cleaning = next(4);
    for (let row = 0; row < 4; row += 1) {
      const own = found.filter((bar) => bar.row === row);
      for (let time = -2; time < 80; time += 1) {
        const segment = bars.segmentAt(index, row, time, cleaning);
        const inside = own.some((bar) => bar.start <= time && time < bar.end);
        const clean = own.every((bar) => time >= bar.end + cleaning || time < bar.start - cleaning);
        assert.equal(segment.kind, inside ? "bar" : clean ? "free" : "cleaning", `seed ${seed}, row ${row}, at ${time}`);
        assert.ok(segment.start <= time && time < segment.end, `seed ${seed}, row ${row}, at ${time}`);
      }
    }
  }
});

test("the next time that is free is the first that counting finds", () => {
  for (let seed = 1; seed < 100; seed += 1) {
    const next = random(seed * 13);
    const found = rowsOf(next, seed % 2 === 0);
    const index = indexed(found);
    const cleaning = next(3);
    const least = 1 + next(5);
    const from = next(40);
    for (let row = 0; row < 4; row += 1) {
      const own = found.filter((bar) => bar.row === row);
      const fits = (start) => own.every((bar) => start >= bar.end + cleaning || start + least <= bar.start - cleaning);
      let start = from;
      while (!fits(start)) start += 1;
      assert.equal(bars.nextFree(index, row, from, cleaning, least).start, start, `seed ${seed}, row ${row}`);
    }
  }
});

test("no two bars of a lane overlap, and there are no more lanes than bars at one moment", () => {
  for (let seed = 1; seed < 100; seed += 1) {
    const found = rowsOf(random(seed * 3), true);
    const index = indexed(found);
    for (let row = 0; row < 4; row += 1) {
      const own = found.filter((bar) => bar.row === row);
      const { lanes, of } = bars.lanesOf(index, row);
      for (const [one, first] of own.entries()) {
        for (const [other, second] of own.entries()) {
          if (one < other && of[one] === of[other]) assert.ok(first.end <= second.start || second.end <= first.start);
        }
      }
      const most = Math.max(1, ...own.map((bar) => own.filter((each) => each.start <= bar.start && bar.start < each.end).length));
      assert.equal(lanes, most, `seed ${seed}, row ${row}`);
    }
  }
});

test("what is used of a shared host is the largest share of its classes, at every moment", () => {
  for (let seed = 1; seed < 60; seed += 1) {
    const next = random(seed * 5);
    const found = rowsOf(next, true);
    const index = indexed(found);
    const amounts = { VCPU: found.map(() => next(4)), MEMORY_MB: found.map(() => next(8)) };
    const capacity = { VCPU: [16, 16, 16, 16], MEMORY_MB: [64, 64, null, 64] };
    const amountOf = Int32Array.from(found, (_, at) => at);
    const steps = indexSteps(index, amountOf, amounts, capacity, (bar) => bar % 3 === 0);
    for (let row = 0; row < 4; row += 1) {
      for (let time = 0; time < 70; time += 1) {
        const own = found.flatMap((bar, at) => (bar.row === row && bar.start <= time && time < bar.end ? [at] : []));
        const share = (bars, name) => (capacity[name][row] ? bars.reduce((sum, at) => sum + amounts[name][at], 0) / capacity[name][row] : 0);
        const most = (bars) => Math.min(1, Math.max(share(bars, "VCPU"), share(bars, "MEMORY_MB")));
        let step = -1;
        for (let at = steps.first[row]; at < steps.first[row + 1] && steps.time[at] <= time; at += 1) step = at;
        for (const [column, bars] of [["share", own], ["parts", own], ["own", own.filter((bar) => bar % 3 === 0)]]) {
          assert.ok(Math.abs((steps[column][step] ?? 0) - most(bars)) < 1e-6, `seed ${seed}, row ${row}, ${column} at ${time}`);
        }
      }
    }
  }
});

test("while one takes a shared host whole, there are no parts", () => {
  const index = indexed([{ row: 0, start: 0, end: 5 }, { row: 0, start: 5, end: 9 }]);
  const steps = indexSteps(index, Int32Array.from([0, -1]), { VCPU: [4] }, { VCPU: [8, 8, 8, 8] }, () => true);
  assert.deepEqual([...steps.time.subarray(0, 3)], [0, 5, 9]);
  assert.deepEqual([steps.share, steps.parts, steps.own].map((column) => [...column]), [[0.5, 1, 0], [0.5, 0, 0], [0.5, 0, 0]]);
});

test("a host that is taken whole has no steps", () => {
  const index = indexed([{ row: 1, start: 0, end: 5 }]);
  const steps = indexSteps(index, Int32Array.from([-1]), {}, {}, () => false);
  assert.deepEqual([...steps.first], [0, 0, 0, 0, 0]);
});
