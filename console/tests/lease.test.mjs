import assert from "node:assert/strict";
import { test } from "node:test";
import { asked, boot, kindOf, next, summary, urgency } from "../src/leasehold_console/static/lease/words.mjs";
import { lengths, longest, steps } from "../src/leasehold_console/static/lease/extending.mjs";

const HOUR = 3_600_000;
const NOW = Date.parse("2031-05-01T10:00:00Z");

/** @param {Record<string, unknown>} facts */
function lease(facts = {}) {
  const usual = {
    id: "l1", name: "mine", status: "ACTIVE", start_date: "2031-05-01T09:00:00.000000", end_date: "2031-05-01T13:00:00.000000",
    degraded: false, reservations: [{ resource_type: "physical:host", min: 2, max: 2 }],
  };
  return /** @type {import("../types/api").LeaseAnswer} */ (/** @type {unknown} */ ({ ...usual, ...facts }));
}

test("a reservation says what it asks for", () => {
  assert.equal(asked({ resource_type: "physical:host", min: "1", max: "1" }), "1 host");
  assert.equal(asked({ resource_type: "physical:host", min: 2, max: 4 }), "2 to 4 hosts");
  assert.equal(asked({ resource_type: "virtual:floatingip", amount: 3 }), "3 floating IPs");
  assert.equal(
    asked({ resource_type: "virtual:instance", amount: 1, vcpus: 2, memory_mb: 512, disk_gb: 10 }),
    "1 instance, each 2 VCPU, 512 MB, 10 GB",
  );
  assert.equal(asked({ resource_type: "device", amount: 2 }), "2 device");
  assert.equal(summary(lease({ reservations: [{ resource_type: "physical:host", min: 1, max: 1 }, { resource_type: "virtual:floatingip", amount: 1 }] })), "1 host, 1 floating IP");
});

test("an active reservation says how a server is booted in it", () => {
  const [real, sandbox] = [{ project_id: "52f0493d71ad430dbc867c0772488417" }, { project_id: "demo" }];
  const slots = { resource_type: "virtual:instance", id: "r1", flavor_id: "r1", status: "active", server_group_id: "g1" };
  const hosts = { resource_type: "physical:host", id: "r2", status: "active" };
  assert.equal(boot(sandbox, slots), "leasehold-manage sandbox boot --project demo --flavor r1 NAME");
  assert.equal(boot(sandbox, hosts), "leasehold-manage sandbox boot --project demo --flavor FLAVOR --reservation r2 NAME");
  assert.equal(boot(real, slots), "openstack server create --flavor r1 --hint group=g1 --image IMAGE --network NETWORK NAME");
  assert.equal(boot(real, hosts), "openstack server create --flavor FLAVOR --hint reservation=r2 --image IMAGE --network NETWORK NAME");
  assert.equal(boot(real, { ...hosts, status: "pending" }), "");
  assert.equal(boot(real, { resource_type: "virtual:floatingip", status: "active" }), "");
});

test("what comes next is the start, the end, the deadline or nothing", () => {
  assert.deepEqual(next(lease(), NOW), { what: "ends", when: "in 3 h" });
  assert.deepEqual(next(lease({ status: "PENDING", start_date: "2031-05-01T12:00:00Z" }), NOW), { what: "starts", when: "in 2 h" });
  assert.deepEqual(next(lease({ status: "IN_PROGRESS", deadline: "2031-05-02T10:00:00Z" }), NOW), { what: "tried until", when: "in 1 d" });
  assert.deepEqual(next(lease({ open_ended: true }), NOW), { what: "open", when: "1 h" });
  assert.deepEqual(next(lease({ status: "TERMINATED", end_date: "2031-05-01T09:30:00Z" }), NOW), { what: "over", when: "30 min ago" });
});

test("what is broken comes before what ends soon, and what is over last", () => {
  const urgent = [{ status: "ERROR" }, { degraded: true }, {}, { status: "IN_PROGRESS" }, { status: "TERMINATED" }, { open_ended: true }];
  assert.deepEqual(urgent.map((facts) => urgency(lease(facts), NOW, 6 * HOUR)), [4, 3, 2, 1, 0, 0]);
  assert.equal(urgency(lease(), NOW, HOUR), 0);
  assert.equal(kindOf(lease({ degraded: true })), "warn");
});

test("the lengths to extend by are those that fit, and the largest", () => {
  const end = Date.parse("2031-05-01T13:00:00Z");
  assert.deepEqual(lengths(end, null).map((each) => each.fits), [true, true, true, true]);
  const until = end + 30 * HOUR;
  assert.deepEqual(lengths(end, until).map((each) => [each.length / HOUR, each.fits]), [[1, true], [4, true], [24, true], [168, false]]);
  assert.deepEqual(longest(end, until), { length: 30 * HOUR, fits: true });
  assert.deepEqual(steps(0).map((each) => each / HOUR), [1, 4, 24, 168]);
  assert.deepEqual(steps(2 * HOUR).map((each) => each / HOUR), [1, 2, 4, 24, 168]);
  assert.equal(longest(end, end), null);
  assert.equal(longest(end, null), null);
});
