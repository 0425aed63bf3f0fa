import assert from "node:assert/strict";
import { test } from "node:test";
import { amending, amendment, creating, creation, parts, policyOf, short } from "../src/leasehold_console/static/budgets/words.mjs";

const BUDGET = {
  ...{ id: "b1", project_id: "astro", user_id: null, name: "spring", unit: "EUR", created_at: "2031-01-01T00:00:00+00:00" },
  ...{ amount: "20.000000", encumbered: "16.000000", charged: "5.000000", left: "4.000000", at_end: "run" },
  ...{ start_date: "2031-01-01T00:00:00+00:00", end_date: "2032-01-01T00:00:00+00:00" },
};
const TYPED = /** @type {const} */ ({ name: "spring", project: "astro", user: "", amount: "20", start: "2031-01-01T00:00", end: "2032-01-01T00:00", policy: "run" });

test("an amount has two decimals at least", () => {
  assert.deepEqual(["1500.000000", "0.500000", "0.125000", "-3.250000", "7.000001"].map(short), ["1500.00", "0.50", "0.125", "-3.25", "7.000001"]);
});

test("the parts of a budget are never more than all of it", () => {
  assert.deepEqual(parts(BUDGET), { charged: 0.25, agreed: 0.8 });
  assert.deepEqual(parts({ ...BUDGET, encumbered: "30.000000" }), { charged: 0.25, agreed: 1 });
  assert.deepEqual(parts({ ...BUDGET, amount: "0.000000", charged: "0.000000" }), { charged: 0, agreed: 1 });
});

test("what is incomplete is not asked for", () => {
  for (const change of [{ name: "" }, { project: "" }, { amount: "" }, { end: "2031-01-01T00:00" }, { start: "2031" }]) {
    assert.equal(creation({ ...TYPED, ...change }, "UTC"), null);
  }
});

test("a budget is asked for as it was typed", () => {
  const body = creation({ ...TYPED, user: "alice", policy: "end" }, "UTC");
  assert.deepEqual(body, {
    ...{ name: "spring", project_id: "astro", user_id: "alice", amount: "20" },
    ...{ start_date: "2031-01-01T00:00:00Z", end_date: "2032-01-01T00:00:00Z", at_end: "end" },
  });
  assert.ok(body);
  assert.equal(
    creating(body),
    "leasehold budget create spring --for-project astro --for-user alice --amount 20 --from 2031-01-01T00:00:00Z --until 2032-01-01T00:00:00Z --at-end end",
  );
});

test("only what was changed is asked for", () => {
  assert.equal(amendment(TYPED, TYPED, "UTC"), null);
  const body = amendment({ ...TYPED, amount: "40", end: "2031-06-01T00:00", policy: "warn", name: "summer" }, TYPED, "UTC");
  assert.deepEqual(body, { name: "summer", amount: "40", end_date: "2031-06-01T00:00:00Z", at_end: "warn" });
  assert.ok(body);
  assert.equal(amending(BUDGET, body), "leasehold budget set b1 --name summer --amount 40 --until 2031-06-01T00:00:00Z --at-end warn");
});

test("a word that is not known lets leases run on", () => {
  assert.deepEqual(["end", "warn", "shout"].map(policyOf), ["end", "warn", "run"]);
});
