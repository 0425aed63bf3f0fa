import assert from "node:assert/strict";
import { test } from "node:test";
import { body, command, conditionOf, counterOffers, newForm, newPart, rule, taking } from "../src/leasehold_console/static/lease/form.mjs";

const EMPTY = new URLSearchParams();

test("the address fills in the form", () => {
  const form = newForm(new URLSearchParams({ from: "2031-05-01T10:00Z", until: "2031-05-01T14:30Z", hosts: "4", where: '{"rack":["a1"]}' }), "Europe/Berlin");
  assert.equal(form.start, "2031-05-01T12:00");
  assert.equal(form.hours, "4.5");
  assert.deepEqual(form.parts[0], newPart({ count: "4", chosen: { rack: ["a1"] } }));
  assert.equal(newForm(EMPTY, "UTC").start, "");
});

test("chosen values are a condition", () => {
  assert.equal(conditionOf({ rack: [] }), "");
  assert.equal(conditionOf({ rack: ["a1"] }), '["==","$rack","a1"]');
  assert.equal(conditionOf({ rack: ["a1", "a2"], gpu: ["true"] }), '["and",["in","$rack","a1","a2"],["==","$gpu","true"]]');
});

test("a form is a request once it is complete", () => {
  const form = newForm(EMPTY, "UTC");
  assert.deepEqual(body(form, "UTC"), {
    name: "lease", start_date: "now", duration_seconds: 10800,
    reservations: [{ resource_type: "physical:host", min: 1, max: 1, hypervisor_properties: "", resource_properties: "" }],
  });
  for (const facts of [{ hours: "0" }, { hours: "x" }, { start: "2031" }, { parts: [newPart({ count: "0" })] }, { parts: [newPart({ type: "virtual:floatingip" })] }])
    assert.equal(body({ ...form, ...facts }, "UTC"), null);
  assert.equal(body({ ...form, start: "2031-05-01T12:00" }, "Europe/Berlin")?.["start_date"], "2031-05-01T10:00:00Z");
  const slots = body({ ...form, parts: [newPart({ type: "virtual:instance", count: "3", chosen: { rack: ["a1"] } })] }, "UTC");
  assert.deepEqual(slots?.["reservations"], [
    { resource_type: "virtual:instance", amount: 3, affinity: null, resource_properties: '["==","$rack","a1"]', vcpus: 2, memory_mb: 4096, disk_gb: 20 },
  ]);
  const templated = body({ ...form, template: "t1", parts: [] }, "UTC");
  assert.deepEqual([templated?.["template"], templated?.["reservations"]], ["t1", undefined]);
});

test("a purpose is in the request and in the command, if there is one", () => {
  const form = newForm(EMPTY, "UTC");
  const asked = body({ ...form, purpose: " Measure the switch " }, "UTC") ?? {};
  assert.equal(asked["purpose"], "Measure the switch");
  assert.match(command(asked), /^leasehold lease create lease --purpose 'Measure the switch' /);
  assert.equal("purpose" in (body({ ...form, purpose: "  " }, "UTC") ?? {}), false);
});

test("what a refusal offers can be taken", () => {
  const form = newForm(EMPTY, "UTC");
  const details = { resource_type: "physical:host", asked: 9, largest: 4, nearest: { start: "2031-05-01T10:00:30+00:00", end: "2031-05-01T13:00:30+00:00" } };
  const [window, fewer] = counterOffers(details);
  assert.ok(window && fewer);
  assert.deepEqual(taking(form, window, "UTC"), { ...form, start: "2031-05-01T10:01", hours: "3" });
  assert.equal(taking(form, fewer, "UTC").parts[0]?.count, "4");
  assert.deepEqual(counterOffers({ asked: 2, largest: 0, nearest: null }), []);
});

test("an offer says what it costs where anything has a price", () => {
  const nearest = { start: "2031-05-01T10:00:00+00:00", end: "2031-05-01T13:00:00+00:00" };
  const [cost, less] = [{ total: "9.00", unit: "EUR" }, { total: "4.00", unit: "EUR" }];
  const details = { resource_type: "physical:host", asked: 9, largest: 4, nearest, estimates: { nearest: { cost }, largest: { cost: less } } };
  assert.deepEqual(counterOffers(details).map((each) => each.cost), [cost, less]);
  assert.deepEqual(counterOffers({ ...details, estimates: undefined }).map((each) => "cost" in each), [false, false]);
});

test("the command is that of the request", () => {
  const form = { ...newForm(EMPTY, "UTC"), name: "my lease", hours: "48", parts: [newPart({ chosen: { rack: ["a1"] } })] };
  const request = body(form, "UTC");
  assert.ok(request);
  assert.equal(
    command(request),
    `leasehold lease create 'my lease' --reservation 'resource_type=physical:host,min=1,max=1,resource_properties=["==","$rack","a1"]' --for 2d`,
  );
  assert.equal(rule({ ...form, repeats: "weekly", times: "12" }), "FREQ=WEEKLY;COUNT=12");
});

test("what sleeps is offered as what is ready soon, and the command says the same", () => {
  const details = { asked: 2, largest: 0, nearest: { start: "2031-05-01T10:00:30", end: "2031-05-01T13:00:30" }, ready_within_seconds: 1020 };
  const [within, ...others] = counterOffers(details);
  assert.deepEqual(others, []);
  const asked = body(taking(newForm(new URLSearchParams(), "UTC"), within, "UTC"), "UTC");
  assert.deepEqual([asked.start_date, asked.ready_within_seconds], ["now", 1020]);
  assert.match(command(asked), / --for 3h --ready-within 17m$/);
  assert.equal("ready_within_seconds" in body(newForm(new URLSearchParams(), "UTC"), "UTC"), false);
});
