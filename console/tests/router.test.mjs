import assert from "node:assert/strict";
import { test } from "node:test";
import { href, match, read } from "../src/leasehold_console/static/core/router.mjs";

test("an address is read as it was written", () => {
  const address = href("leases/4f 2a".replace(" ", "%20"), { tab: "history", empty: "", none: undefined, q: "a=b&c?d" });
  const { path, query } = read(address);
  assert.equal(path, "leases/4f%202a");
  assert.deepEqual([...query], [["tab", "history"], ["q", "a=b&c?d"]]);
  assert.deepEqual(match("leases/:id", path), { id: "4f 2a" });
});

test("a path has the form of one page", () => {
  assert.equal(match("leases/:id", "leases"), null);
  assert.equal(match("leases/new", "leases/x"), null);
  assert.deepEqual(match("timeline", "timeline"), {});
  assert.deepEqual(read(""), { path: "", query: new URLSearchParams() });
});
