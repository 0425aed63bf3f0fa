// One long poll for the whole console: pages listen, and are told what happened.

import { effect } from "../vendor/signals-core/signals-core.mjs";
import { administers, session } from "../core/session.mjs";
import { ApiError, request } from "./http.mjs";

/**
 * @typedef {import("../../../../types/api").LogEventAnswer} LogEvent
 * @callback Listener
 * @param {LogEvent[]} events oldest first; empty after a gap: what is shown has to be read anew
 */

const WAIT_SECONDS = 50;
const PAUSE = 5000;
/** @type {Set<Listener>} */
const listeners = new Set();
/** @type {AbortController | null} */
let polling = null;

/**
 * Tells a listener of the events from now on, until the function that is returned is called.
 * @param {Listener} listener
 */
export function listen(listener) {
  listeners.add(listener);
  begin();
  return () => {
    listeners.delete(listener);
    if (!listeners.size) stop();
  };
}

/** Begins anew for another session, and stops without one. */
export function followSession() {
  effect(() => {
    const there = session.value !== null;
    stop();
    if (there) begin();
  });
}

function stop() {
  polling?.abort();
  polling = null;
}

function begin() {
  if (polling || !listeners.size || !session.peek()) return;
  polling = new AbortController();
  poll(polling.signal).catch(reportError);
}

/** @param {AbortSignal} signal */
async function poll(signal) {
  let after = "latest";
  // What happened between the reading of a page and the first answer is not in any list of events.
  let gap = true;
  let all = administers();
  while (!signal.aborted) {
    try {
      const query = { after, wait: after === "latest" ? 0 : WAIT_SECONDS, limit: 500, ...(all ? { all_projects: true } : {}) };
      const page = await request("GET", "v1/events", { query, signal });
      if (gap || page.events.length) tell(page.events);
      gap = false;
      after = page.next;
    } catch (error) {
      if (signal.aborted) return;
      if (!(error instanceof ApiError)) throw error;
      // 410: events were purged before they were read. Otherwise nobody knows what happened meanwhile.
      gap = true;
      after = "latest";
      if (error.status === 401) return;
      // Who sees the resources of all projects does not have to see their events.
      if (error.status === 403 && all) all = false;
      else if (error.status !== 410) await pause(PAUSE, signal);
    }
  }
}

/** @param {LogEvent[]} events */
function tell(events) {
  for (const listener of [...listeners]) listener(events);
}

/** @param {number} length @param {AbortSignal} signal @returns {Promise<void>} */
function pause(length, signal) {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, length);
    signal.addEventListener("abort", () => (clearTimeout(timer), resolve()), { once: true });
  });
}
