import assert from "node:assert/strict";
import { test } from "node:test";
import { asked, foreseen, missing, questionOf, recorded, turning } from "../src/leasehold_console/static/capacity/question.mjs";

/** @param {string} query */
const of = (query) => questionOf(new URLSearchParams(query));

test("an address without a word asks about hosts for a week", () => {
  const question = of("");
  assert.equal(question.days, 7);
  assert.equal(missing(question), undefined);
  assert.deepEqual(asked(question), { resource_type: "physical:host" });
  assert.deepEqual(recorded(question), { resource_type: "physical:host" });
});

test("a condition counts for hosts and instances, and for nothing else", () => {
  const where = '["==", "$rack", "b2"]';
  const word = `where=${encodeURIComponent(where)}`;
  assert.deepEqual(asked(of(word)), { resource_type: "physical:host", resource_properties: where });
  assert.deepEqual(recorded(of(word)), { resource_type: "physical:host", resource_properties: where });
  assert.equal(asked(of(`type=virtual:instance&vcpus=1&memory_mb=1&disk_gb=1&${word}`)).resource_properties, where);
  assert.deepEqual(asked(of(`type=virtual:floatingip&network=n&${word}`)), { resource_type: "virtual:floatingip", network_id: "n" });
});

test("instances begin with a size, and their past is not recorded in such units", () => {
  const begun = turning("physical:host", "virtual:instance");
  assert.deepEqual(begun, { where: undefined, type: "virtual:instance", vcpus: "2", memory_mb: "4096", disk_gb: "20" });
  assert.deepEqual(turning("virtual:instance", "physical:host"), { vcpus: undefined, memory_mb: undefined, disk_gb: undefined, where: undefined, type: undefined });
  const question = of("type=virtual:instance&vcpus=8&memory_mb=1&disk_gb=0");
  assert.deepEqual(asked(question), { resource_type: "virtual:instance", vcpus: "8", memory_mb: "1", disk_gb: "0" });
  assert.equal(recorded(question), null);
  assert.equal(recorded(of("type=flavor:instance&flavor=m1.small")), null);
  assert.equal(missing(of("type=virtual:instance&vcpus=&memory_mb=1&disk_gb=1")), "vcpus");
});

test("what is counted has to be chosen where there is no default", () => {
  assert.equal(missing(of("type=virtual:floatingip")), "network");
  assert.equal(missing(of("type=flavor:instance")), "flavor");
  assert.equal(missing(of("type=flavor:instance&flavor=m1.small")), undefined);
  assert.deepEqual(recorded(of("type=virtual:floatingip&network=n")), {
    resource_type: "virtual:floatingip",
    resource_properties: '["==","$floating_network_id","n"]',
  });
});

test("a type that the console does not know is asked about by its name alone", () => {
  assert.deepEqual(asked(of("type=badge&network=n&days=30")), { resource_type: "badge" });
  assert.equal(of("type=badge&days=30").days, 30);
  assert.equal(of("days=31").days, 7);
});

test("a forecast is asked for where it counts the same", () => {
  assert.deepEqual(foreseen(of("")), { resource_type: "physical:host", step_seconds: "3600" });
  assert.deepEqual(foreseen(of("days=90")), { resource_type: "physical:host", step_seconds: "86400" });
  assert.equal(foreseen(of(`where=${encodeURIComponent('["==", "$rack", "b2"]')}`)), null);
  assert.equal(foreseen(of("type=virtual:floatingip&network=n")), null);
});
