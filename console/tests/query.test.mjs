import assert from "node:assert/strict";
import { test } from "node:test";
import { covers, windowOf } from "../src/leasehold_console/static/timeline/window.mjs";
import { readWish, seconds, words, wordsOfFilter, wordsOfView } from "../src/leasehold_console/static/timeline/query.mjs";

test("a view is read from the address as it was written", () => {
  const view = { from: Date.UTC(2026, 11, 21, 23, 21) / 1000, to: Date.UTC(2026, 11, 24, 23, 21) / 1000 };
  const written = { ...wordsOfView(view), ...wordsOfFilter("model", ["A, B", "C=D&E"]), ...wordsOfFilter("rack", []), by: "rack", q: "gpu 1", rows: "all", as: "table", makes: "maintenance", as_of: "2026-11-03T04:05:00Z", colour: "fare" };
  const query = new URLSearchParams(Object.entries(written).filter(([, value]) => value !== undefined));
  const wish = readWish(new URLSearchParams(String(query)));
  assert.deepEqual(wish, {
    from: view.from, span: 3 * 86400, by: "rack", text: "gpu 1", properties: { model: ["A, B", "C=D&E"] }, size: "all", as: "table", type: "physical:host",
    colour: "fare", makes: "maintenance", asOf: Date.UTC(2026, 10, 3, 4, 5) / 1000,
  });
});

test("an address that says nothing, or nonsense, shows a week from about now", () => {
  for (const text of ["", "from=yesterday&span=-3d&rows=huge&as=song&type=x", "span=999999d", "span=5m"]) {
    const wish = readWish(new URLSearchParams(text));
    assert.equal(wish.from, null);
    assert.equal(wish.span, 7 * 86400);
    assert.deepEqual([wish.size, wish.as, wish.type], [null, null, "physical:host"]);
  }
});

test("lengths are written in the largest unit that is whole", () => {
  for (const text of ["12h", "1d", "90m", "7d", "36h"]) assert.equal(words(seconds(text)), text);
  assert.ok(Number.isNaN(seconds("3w")));
});

test("what is read is the view and as much on both sides, and never more than the API gives", () => {
  for (const span of [600, 3600, 7 * 86400, 130 * 86400]) {
    const view = { from: 1_800_000_123, to: 1_800_000_123 + span };
    const read = windowOf(view);
    assert.ok(covers(read, view));
    assert.ok(read.to - read.from <= 400 * 86400);
    assert.ok(view.from - read.from >= span && read.to - view.to >= span, `${span}`);
    assert.deepEqual(windowOf({ from: view.from + 1, to: view.to + 1 }), read);
  }
});

test("what an address says of no known kind is as if it said nothing", () => {
  const { makes, asOf, colour } = readWish(new URLSearchParams("makes=coffee&as_of=tuesday&colour=loud"));
  assert.deepEqual({ makes, asOf, colour }, { makes: "lease", asOf: null, colour: "whose" });
});
