import assert from "node:assert/strict";
import { test } from "node:test";
import { added, changed, commandsOf, hidden, linesOf } from "../src/leasehold_console/static/hosts/lines.mjs";
import { barrier, picked } from "../src/leasehold_console/static/hosts/candidates.mjs";

const [gpu, rack] = linesOf({ rack: "b1", gpu: "a100" }, new Set(["rack"]));

test("lines that nobody touched change nothing", () => {
  assert.deepEqual([gpu.name, rack.name, rack.secret], ["gpu", "rack", true]);
  assert.deepEqual(changed([gpu, rack, added()]), {});
  assert.deepEqual(hidden([gpu, rack, added()]), []);
  assert.deepEqual(commandsOf("cmp-01", [gpu, rack]), []);
});

test("what is typed, added, removed and hidden is sent, and nothing else", () => {
  const lines = [
    { ...gpu, secret: true },
    { ...rack, removed: true, value: "b9", secret: false },
    { ...added(), name: " note ", value: "a fan", secret: true },
    { ...added(), name: "gone", value: "x", removed: true },
  ];
  assert.deepEqual(changed(lines), { rack: null, note: "a fan" });
  assert.deepEqual(hidden(lines), [["gpu", true], ["note", true]]);
  assert.deepEqual(commandsOf("cmp-01", lines), [
    "leasehold host set cmp-01 --extra 'note=a fan'",
    "leasehold host unset cmp-01 --extra rack",
    "leasehold host property set gpu --private",
    "leasehold host property set note --private",
  ]);
  assert.deepEqual(changed([{ ...gpu, value: "" }]), { gpu: "" });
});

test("a host with servers is for the shared pool, and one that would be refused for none", () => {
  const candidate = { name: "a", refused: null, pool: "reservation", attributes: {}, up: true, enabled: true };
  const used = { ...candidate, name: "b", pool: "shared" };
  const second = { ...candidate, name: "c", refused: "behind another" };
  const all = new Set(["a", "b", "c"]);
  assert.deepEqual(picked([candidate, used, second], all, "reservation"), [candidate]);
  assert.deepEqual(picked([candidate, used, second], all, "shared"), [candidate, used]);
  assert.equal(barrier(second, "shared"), "behind another");
});
