import assert from "node:assert/strict";
import { test } from "node:test";
import { nextFree, outline, stepsOf } from "../src/leasehold_console/static/start/free.mjs";

const START = Date.parse("2031-05-01T00:00:00Z");
const BOX = { start: START, end: START + 100_000, total: 4, width: 100, height: 20 };

test("the outline is high where much is free, and stays in its box", () => {
  const steps = stepsOf({ from: ["2031-05-01T00:00:00+00:00", "2031-05-01T00:00:50+00:00"], free: [4, 1], reserved: [0, 3] });
  assert.equal(outline(steps, BOX), "M0 20H0V0H50V15H100V20Z");
  assert.equal(outline([{ at: START - 5000, free: 2 }], BOX), "M0 20H0V10H100V20Z");
  assert.equal(outline([{ at: START, free: 0 }], { ...BOX, total: 0 }), "M0 20H0V20H100V20Z");
});

test("the first step with something free is when one is free next", () => {
  assert.equal(nextFree([{ at: 1, free: 0 }, { at: 2, free: 3 }]), 2);
  assert.equal(nextFree([{ at: 1, free: 0 }]), null);
});
