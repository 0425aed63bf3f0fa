import assert from "node:assert/strict";
import { test } from "node:test";
import * as scale from "../src/leasehold_console/static/timeline/scale.mjs";

const WEEK = { from: 1_800_000_000, to: 1_800_000_000 + 7 * 86400, width: 1000 };

test("a place is the moment that is drawn there", () => {
  for (const x of [0, 1, 500, 999]) assert.ok(Math.abs(scale.place(WEEK, scale.timeAt(WEEK, x)) - x) < 1e-6);
});

test("zooming keeps the moment under the pointer, to a second, and has two ends", () => {
  for (const x of [0, 137, 999]) {
    for (const factor of [0.5, 0.93, 2]) {
      const moment = scale.timeAt(WEEK, x);
      const there = scale.zoomed(WEEK, factor, x);
      assert.ok(Math.abs(scale.timeAt(there, x) - moment) <= 1);
    }
  }
  assert.equal(scale.zoomed(WEEK, 1e-9, 0).to - scale.zoomed(WEEK, 1e-9, 0).from, scale.SHORTEST);
  assert.equal(scale.zoomed(WEEK, 1e9, 0).to - scale.zoomed(WEEK, 1e9, 0).from, scale.LONGEST);
});

test("panning moves by what was dragged, and keeps the size", () => {
  const there = scale.panned(WEEK, 100);
  assert.equal(there.to - there.from, WEEK.to - WEEK.from);
  assert.ok(Math.abs(scale.place(there, scale.timeAt(WEEK, 100))) < 0.01);
});

test("labels of the axis have room at every size, and drags are as fine as can be seen", () => {
  for (let span = scale.SHORTEST; span <= scale.LONGEST; span *= 1.3) {
    const shown = { from: 0, to: Math.round(span), width: 900 };
    const { step } = scale.ticks(shown);
    assert.ok(step / scale.perPixel(shown) >= 64 || step === 14 * 86400, `${span}`);
    assert.ok(shown.to / step < 20, `${span}: ${shown.to / step} labels`);
    const snapped = scale.snap(shown) / scale.perPixel(shown);
    assert.ok(snapped >= 4 && (snapped < 40 || scale.snap(shown) === 300), `${span}: ${snapped} pixels`);
  }
});
