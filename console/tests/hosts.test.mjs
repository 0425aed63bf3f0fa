import assert from "node:assert/strict";
import { test } from "node:test";
import { heldBy, matches, stateOf } from "../src/leasehold_console/static/hosts/words.mjs";

const HOST = {
  name: "node-7",
  health: "healthy",
  disabled: false,
  disabled_reason: null,
  pool: "reservation",
  attributes: { availability_zone: "zone-a" },
  properties: { rack: "r1", gpu: "yes" },
};

test("every word of a filter has to be somewhere in a host", () => {
  for (const text of ["", "NODE", "zone-a rack=r1", " gpu=  node "]) assert.equal(matches(HOST, text), true, text);
  for (const text of ["rack=r2", "node gpu=no", "disabled"]) assert.equal(matches(HOST, text), false, text);
  assert.equal(matches({ ...HOST, disabled: true, disabled_reason: "a fan" }, "disabled fan"), true);
});

test("what an operator has disabled is said before what the cloud says", () => {
  assert.equal(stateOf({ ...HOST, disabled: true, health: "failed" }), "disabled");
  assert.deepEqual(["healthy", "down", "failed", "disabled"].map((health) => stateOf({ ...HOST, health })), ["healthy", "down", "failed", "out_there"]);
});

test("a host is held from the start of a lease until before its end", () => {
  const at = (hour) => `2026-01-01T${String(hour).padStart(2, "0")}:00:00.000000`;
  const held = (id, from, to) => ({ id, lease_id: id, start_date: at(from), end_date: at(to) });
  const allocation = { resource_id: "1", reservations: [held("c", 9, 10), held("a", 1, 3), held("b", 5, 7)] };
  const found = (hour) => {
    const { now, next } = heldBy(allocation, Date.UTC(2026, 0, 1, hour));
    return [now?.id, next?.id];
  };
  assert.deepEqual([0, 1, 2, 3, 5, 7, 9, 10].map(found), [
    [undefined, "a"], ["a", "b"], ["a", "b"], [undefined, "b"], ["b", "c"], [undefined, "c"], ["c", undefined], [undefined, undefined],
  ]);
  assert.deepEqual(heldBy(undefined, 0), { now: null, next: null });
});
