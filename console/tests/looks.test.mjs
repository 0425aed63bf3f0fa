import assert from "node:assert/strict";
import { test } from "node:test";
import { ALL_LOOKS, Fares, MARKS } from "../src/leasehold_console/static/timeline/looks.mjs";
import { FARES, LOOKS, fareOf } from "../src/leasehold_console/static/timeline/model.mjs";

const lease = (status, { degraded = false, atRisk = false } = {}) => ({ status, degraded, atRisk });

test("the worst that is known of a lease is how it fares", () => {
  assert.deepEqual(["CREATING", "PENDING", "STARTING", "ACTIVE", "UPDATING", "ERROR", "TERMINATED", null].map((status) => fareOf(lease(status))),
    ["pending", "pending", "starting", "active", "active", "error", null, null]);
  assert.equal(fareOf(lease("ACTIVE", { degraded: true })), "degraded");
  assert.equal(fareOf(lease("PENDING", { atRisk: true })), "risk");
  assert.equal(fareOf(lease("PENDING", { atRisk: true, degraded: true })), "degraded");
  assert.equal(fareOf(lease("ERROR", { degraded: true })), "error");
  assert.equal(fareOf(lease("TERMINATED", { degraded: true })), null);
  assert.equal(fareOf(undefined), null);
});

test("bars of leases look by how they fare, all others as always", () => {
  const model = {
    leases: [lease("ACTIVE", { degraded: true }), lease("TERMINATED")],
    leaseOf: Int32Array.from([0, 0, 1, -1]),
    kinds: ["lease", "grace", "lease", "taken"],
    looks: Uint8Array.from(["mine", "after", "mine", "taken"], (look) => LOOKS.indexOf(look)),
  };
  const said = (colour) => [0, 1, 2, 3].map((bar) => ALL_LOOKS[new Fares().lookOf(model, colour, bar)]);
  assert.deepEqual(said("whose"), ["mine", "after", "mine", "taken"]);
  assert.deepEqual(said("fare"), ["degraded", "after", "taken", "taken"]);
});

test("each trouble has a pattern that no other has", () => {
  const troubles = FARES.filter((fare) => !["pending", "active"].includes(fare));
  const marks = troubles.map((fare) => (MARKS[fare] ?? []).join());
  assert.equal(new Set(marks).size, troubles.length);
  assert.ok(marks.every(Boolean));
});
