import assert from "node:assert/strict";
import { test } from "node:test";
import { actionsOf, byDay, counted, summed, waitsFor } from "../src/leasehold_console/static/power/words.mjs";

const DAY = 86_400;
const MACHINE = { stage: "on", kept_on: false, failure: null, next_start: null };
const ROW = { day: "2026-01-02", power_class: "a", zone: "", hours_off: 2, kwh: 1, wakes: 1, failed_wakes: 0, called_off: 0, late_starts: 0, delayed_requests: 2, delay_seconds: 60 };

test("machines are counted by stage, in the order of a sleep, and one that the console does not know is on", () => {
  const stages = ["asleep", "waking", "asleep", "on", "new"].map((stage) => ({ ...MACHINE, stage }));
  assert.deepEqual(counted(stages), [{ stage: "on", count: 2 }, { stage: "asleep", count: 2 }, { stage: "waking", count: 1 }]);
});

test("what a machine waits for follows from its stage, and then from what was said of it", () => {
  const next_start = "2026-01-02T10:00:00";
  const found = [
    MACHINE,
    { ...MACHINE, next_start },
    { ...MACHINE, kept_on: true, next_start },
    { ...MACHINE, kept_on: true, failure: "it hangs" },
    { ...MACHINE, stage: "asleep" },
    { ...MACHINE, stage: "asleep", next_start },
    { ...MACHINE, stage: "failed", failure: "it hangs" },
  ].map(waitsFor);
  assert.deepEqual(found, ["on", "lease", "kept", "distrusted", "asleep", "start", "failed"]);
});

test("only what is not on is woken, and what has failed is first trusted again", () => {
  assert.deepEqual(actionsOf(MACHINE), ["keep"]);
  assert.deepEqual(actionsOf({ ...MACHINE, stage: "asleep", kept_on: true }), ["wake", "release"]);
  assert.deepEqual(actionsOf({ ...MACHINE, kept_on: true, failure: "it hangs" }), ["trust"]);
  assert.deepEqual(actionsOf({ ...MACHINE, stage: "waking" }), ["keep"]);
});

test("kWh are unknown where those of one class are", () => {
  assert.equal(summed([ROW, { ...ROW, kwh: 3 }]).kwh, 4);
  assert.equal(summed([ROW, { ...ROW, kwh: null }]).kwh, null);
  assert.deepEqual([summed([]).kwh, summed([ROW, ROW]).delayed_requests], [0, 4]);
});

test("each day of the window has its sums, and the last one is drawn to its end", () => {
  const begin = Date.UTC(2026, 0, 1);
  const { days, sums } = byDay([ROW, { ...ROW, zone: "b" }], begin + 5, begin + 2.5 * DAY * 1000);
  assert.deepEqual(days.map((each) => each - begin / 1000), [0, DAY, 2 * DAY, 3 * DAY]);
  assert.deepEqual(sums.map((each) => each.hours_off), [0, 4, 0, 0]);
});
