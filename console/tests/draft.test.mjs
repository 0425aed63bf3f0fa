import assert from "node:assert/strict";
import { test } from "node:test";
import { draftOf, extensionOf, isFree, latestEnd } from "../src/leasehold_console/static/timeline/draft.mjs";
import { modelOf } from "../src/leasehold_console/static/timeline/model.mjs";

const HOUR = 3600;
const ZERO = Date.UTC(2031, 4, 1) / 1000;
const KINDS = ["taken", "lease", "offer", "maintenance", "lead", "grace", "emptying", "vacated"];
const STATES = ["ok", "failed", "down", "returning", "disabled", "maintenance", "held", "shared", "drawing", "giving_back", "removed"];

/** A timeline of hours from midnight: bars are [row, start, end, kind, lease]. */
function model(rows, bars, { states = [], cleaning = HOUR, now = 0 } = {}) {
  const leases = [...new Set(bars.map((bar) => bar[4] ?? -1).filter((lease) => lease >= 0))].sort();
  const of = (lease) => bars.filter((bar) => bar[4] === lease);
  return modelOf({
    from: "2031-05-01T00:00:00Z",
    to: "2031-05-08T00:00:00Z",
    now: new Date((ZERO + now * HOUR) * 1000).toISOString(),
    as_of: null,
    cursor: "1-x",
    types: [{ resource_type: "physical:host", identified: true, cleaning_seconds: cleaning, lead_seconds: 0 }],
    rows: {
      id: Array.from({ length: rows }, (_, row) => String(row)),
      name: Array.from({ length: rows }, (_, row) => `host-${row}`),
      type: Array(rows).fill(0),
      state: Array.from({ length: rows }, (_, row) => STATES.indexOf(states[row] ?? "ok")),
      capacity: {},
      properties: {},
      reason: { values: [], index: Array(rows).fill(-1) },
    },
    states: STATES,
    kinds: KINDS,
    bars: {
      row: bars.map((bar) => bar[0]),
      start: bars.map((bar) => bar[1] * HOUR),
      end: bars.map((bar) => (bar[2] < 0 ? -1 : bar[2] * HOUR)),
      kind: bars.map((bar) => KINDS.indexOf(bar[3])),
      lease: bars.map((bar) => bar[4] ?? -1),
      amount: bars.map(() => -1),
    },
    substitutes: [],
    unplaced: { lease: [], resource_type: [], amount: [] },
    amounts: {},
    leases: {
      id: leases.map(String),
      name: leases.map((lease) => `lease-${lease}`),
      status: leases.map(() => "PENDING"),
      start: leases.map((lease) => Math.min(...of(lease).map((bar) => bar[1])) * HOUR),
      end: leases.map((lease) => Math.max(...of(lease).map((bar) => bar[2])) * HOUR),
      whose: leases.map(() => "mine"),
      project: leases.map(() => null),
      movable: leases.map(() => null),
      degraded: leases.map(() => false),
      at_risk: leases.map(() => false),
    },
    next: null,
  });
}

const at = (hour) => ZERO + hour * HOUR;

test("a drag stops before the next bar, by the time for cleaning, and says so", () => {
  const shown = model(1, [[0, 2, 4, "taken"], [0, 20, 30, "taken"]]);
  const draft = draftOf(shown, [0], at(6), at(25), HOUR, at(0));
  assert.deepEqual([draft.start, draft.end], [at(6), at(19)]);
  assert.deepEqual(draft.stop, { reason: "after", at: at(19), bar: 1, cleaning: HOUR });
  const back = draftOf(shown, [0], at(6), at(1), HOUR, at(0));
  assert.deepEqual([back.start, back.end, back.stop?.reason, back.stop?.bar], [at(5), at(6), "before", 0]);
  assert.equal(draftOf(shown, [0], at(6), at(10), HOUR, at(0)).stop, null);
});

test("a drag over several rows has those that are free where it began, and the narrowest of their bounds", () => {
  const shown = model(4, [[0, 15, 20, "taken"], [1, 12, 20, "taken"], [2, 4, 8, "taken"]], { states: ["ok", "ok", "ok", "failed"] });
  const draft = draftOf(shown, [0, 1, 2, 3], at(6), at(18), HOUR, at(0));
  assert.deepEqual(draft.rows, [0, 1]);
  assert.equal(draft.end, at(11));
});

test("nothing begins before now, on a host that is not to be had, in a bar, or while it is cleaned", () => {
  const shown = model(2, [[0, 8, 10, "taken"]], { states: ["ok", "disabled"] });
  assert.deepEqual([6, 7, 9, 10.5, 11, 3].map((hour) => isFree(shown, 0, at(hour), at(4))), [true, false, false, false, true, false]);
  assert.equal(isFree(shown, 1, at(6), at(4)), false);
  assert.equal(draftOf(shown, [0], at(5), at(1), HOUR, at(4.5)).start, at(4.5));
});

test("a lease can end until the next bar of any of its rows that is not its own", () => {
  const bars = [[0, 2, 4, "lease", 0], [0, 4, 5, "grace", 0], [0, 20, 22, "taken"], [1, 2, 4, "lease", 0], [1, 12, 14, "taken"]];
  const shown = model(2, bars);
  assert.equal(latestEnd(shown, 0).at, at(11));
  assert.deepEqual(extensionOf(shown, 0, at(8), HOUR, at(0)), { end: at(8), stop: null });
  assert.equal(extensionOf(shown, 0, at(30), HOUR, at(0)).stop?.at, at(11));
  assert.ok(extensionOf(shown, 0, at(1), HOUR, at(3)).end > at(3));
});

test("what is released at an unknown time is drawn until now", () => {
  const shown = model(1, [[0, 2, -1, "emptying"]], { now: 6 });
  assert.equal(shown.bars.end[0], at(6));
});
