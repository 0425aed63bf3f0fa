// Who is signed in, whatever the order in which answers arrive.

import assert from "node:assert/strict";
import { test } from "node:test";
import { enter, fetchSession, leave, session } from "../src/leasehold_console/static/core/session.mjs";

const SOMEONE = { user: { id: "2", name: "someone" }, may: [] };

/** Answers a request with this document. @param {unknown} document */
function answer(document) {
  return new Response(JSON.stringify(document), { status: 200 });
}

test("a late answer from before a sign-in does not sign out", async (context) => {
  /** @type {((response: Response) => void)[]} */
  const late = [];
  context.mock.method(globalThis, "fetch", (/** @type {URL} */ _url, /** @type {RequestInit} */ { method }) => {
    if (method === "GET") return new Promise((resolve) => late.push(resolve));
    return Promise.resolve(method === "DELETE" ? new Response(null, { status: 204 }) : answer({ session: SOMEONE }));
  });
  const left = leave();
  while (!late.length) await new Promise(setImmediate);
  await enter({ password: {} });
  late[0]?.(answer({ session: null }));
  await left;
  assert.equal(session.value?.user.name, "someone");
  const asked = fetchSession();
  late[1]?.(answer({ session: null }));
  await asked;
  assert.equal(session.value, null);
});
