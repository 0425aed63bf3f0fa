import assert from "node:assert/strict";
import { test } from "node:test";
import { byReason, story, wouldHaveGranted } from "../src/leasehold_console/static/operations/words.mjs";

/** An event at a minute of an hour. */
function event(minute, type, more = {}) {
  const time = new Date(Date.UTC(2026, 0, 1, 10, minute)).toISOString();
  return { id: `${minute}`, position: minute, type, time, project_id: null, lease_id: null, resource_type: null, resource_id: null, payload: {}, ...more };
}

const HOST = { resource_type: "physical:host", resource_id: "7" };
const LEASE = { lease_id: "a", payload: { name: "mine", reservations: [{ missing_resources: true }] } };

test("a story has a chapter for each subject, the newest first, and says what is still wrong", () => {
  const events = [
    event(0, "lease.degraded", LEASE),
    event(1, "resource.health", { ...HOST, payload: { name: "node-7", health: "failed" } }),
    event(2, "lease.degraded", LEASE),
    event(3, "lease.healed", LEASE),
    event(4, "lease.moved", LEASE),
  ];
  const chapters = story(events, Date.UTC(2026, 0, 1, 10, 1));
  assert.deepEqual(chapters.map(({ name, lease, open }) => ({ name, lease, open })), [
    { name: "mine", lease: "a", open: false },
    { name: "node-7", lease: null, open: true },
  ]);
  assert.deepEqual(chapters[0].events.map((each) => each.type), ["lease.moved", "lease.healed", "lease.degraded"]);
});

test("a lease that is degraded is wrong only while it lacks resources", () => {
  const degraded = (minute, missing) => event(minute, "lease.degraded", { lease_id: "a", payload: { reservations: [{ missing_resources: false }, { missing_resources: missing }] } });
  assert.equal(story([degraded(0, true)], 0)[0].open, true);
  assert.equal(story([degraded(0, true), event(1, "lease.healed", LEASE), degraded(1, false)], 0)[0].open, false);
});

test("a resource that works again is no longer wrong", () => {
  const health = (minute, word) => event(minute, "resource.health", { ...HOST, payload: { name: "node-7", health: word } });
  const [chapter] = story([health(0, "down"), health(1, "failed"), health(2, "healthy")], 0);
  assert.equal(chapter.open, false);
  assert.equal(chapter.last, Date.UTC(2026, 0, 1, 10, 2));
});

const refused = (code, type, missing, count) => ({ hour: "2026-01-01T10:00:00Z", operation: "create", code, resource_type: type, missing, refused: count, projects: 1 });

test("refusals are summed by reason", () => {
  const sums = byReason([refused("a", null, 0, 1), refused("b", "host", 2, 2), refused("b", "host", 3, 4)]);
  assert.deepEqual(sums.map(({ code, kind, refused: sum }) => [code, kind, sum]), [["b", "host", 6], ["a", "", 1]]);
});

test("what so many more would have granted agrees with each request by itself", () => {
  const all = [refused("b", "host", 2, 2), refused("b", "host", 5, 4), refused("c", "host", 2, 1), refused("b", "host", 0, 3), refused("b", "ip", 0, 9)];
  const [sums, ...others] = wouldHaveGranted(all);
  assert.deepEqual(others, []);
  assert.equal(sums.all, 10);
  for (const { missing, granted } of sums.steps) {
    let count = 0;
    for (const each of all) if (each.resource_type === "host" && each.missing && each.missing <= missing) count += each.refused;
    assert.equal(granted, count);
  }
  assert.deepEqual(sums.steps.map((each) => each.missing), [2, 5]);
});
