import assert from "node:assert/strict";
import { test } from "node:test";
import { largest, stacked, types, unused } from "../src/leasehold_console/static/usage/words.mjs";

const DAY = 86_400;
const ROW = {
  resource_type: "physical:host", unit: "hosts", project_id: null, user_id: null, lease_id: null, resource: null, day: "2026-01-02",
  promised: 12, held: 9, late: 1, active: 8, used: 5, idle: 3, no_show: 0, missing: 2, given_up: 1, lent: 0, refused: 0,
};

test("each layer of a day lies on those below it, the highest one first, and the last day is drawn whole", () => {
  const from = Date.parse("2026-01-01T00:00:00Z");
  const { days, heights } = stacked([ROW], from, from + 2 * DAY * 1000);
  assert.deepEqual(days, [0, 1, 2].map((each) => from / 1000 + each * DAY));
  assert.deepEqual(heights, [12, 11, 9, 8, 3].map((height) => [0, height, height]));
});

test("what nobody has looked at is shown as idle", () => {
  assert.equal(unused({ ...ROW, used: null, idle: null }), 8);
});

test("who has the most idle hours is first, and ten are shown", () => {
  const rows = Array.from({ length: 12 }, (_, number) => ({ ...ROW, project_id: `p${number}`, used: 8 - (number % 9) }));
  const found = largest(rows);
  assert.equal(found.length, 10);
  assert.deepEqual(found.slice(0, 3).map((row) => row.project_id), ["p8", "p7", "p6"]);
  assert.deepEqual(types([...rows, { ...ROW, resource_type: "a" }, { ...ROW, resource_type: null }]), ["a", "physical:host"]);
});
