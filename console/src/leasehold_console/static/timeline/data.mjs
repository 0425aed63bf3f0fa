// Reads the picture: a window around what is shown, again when something happened, or when the view leaves the window.

import { signal } from "../vendor/signals-core/signals-core.mjs";
import { listen } from "../api/events.mjs";
import { ApiError, send } from "../api/http.mjs";
import { session } from "../core/session.mjs";
import { modelOf } from "./model.mjs";
import { covers, windowOf } from "./window.mjs";

/** @typedef {import("./model.mjs").Model} Model */

/** Others' leases write no events that we may see, so the picture is asked for as well; nothing is read if it is the same. */
const ASK_EVERY = 30_000;
const SETTLE = 250;

/**
 * @param {() => {view: {from: number, to: number}, type: string, asOf: number | null}} wanted `asOf`: seconds, as of when;
 *   the past changes no more, so it is read once
 */
export function reader(wanted) {
  /** @type {import("../vendor/signals-core/signals-core.mjs").Signal<{model: Model | null, error: ApiError | null, skew: number, more: boolean}>} */
  const state = signal({ model: /** @type {Model | null} */ (null), error: /** @type {ApiError | null} */ (null), skew: 0, more: false });
  let current = new AbortController();
  let etag = "";
  /** What the picture shows, and what it will show when the answer is there. */
  /** @type {{from: number, to: number, type: string, asOf: number | null}} */
  let read = { from: 0, to: 0, type: "", asOf: null };
  let asked = read;
  let loading = 0;
  let again = false;

  /** @param {boolean} person */
  async function load(person) {
    current.abort();
    const { signal: mine } = (current = new AbortController());
    const { view, type, asOf } = wanted();
    const window = covers(read, view) && read.type === type && read.asOf === asOf ? read : { ...windowOf(view), type, asOf };
    // A picture of another moment must not stand under the words of this one.
    if (asked.asOf !== asOf) state.value = { ...state.peek(), model: null, error: null };
    asked = window;
    const same = window === read;
    try {
      const query = { from: iso(window.from), to: iso(window.to), resource_type: type, ...(asOf === null ? {} : { as_of: new Date(asOf * 1000).toISOString() }) };
      /** @type {Record<string, string>} */
      const headers = same && etag ? { "If-None-Match": etag } : {};
      const answer = await send("GET", "v1/timeline", { query, headers, person, signal: mine });
      if (answer.status === 304) {
        state.value = { ...state.peek(), error: null };
        return;
      }
      const { timeline } = await answer.json();
      if (mine.aborted) return;
      etag = answer.headers.get("ETag") ?? "";
      read = window;
      const model = modelOf(timeline);
      state.value = { model, error: null, skew: model.read - Date.now() / 1000, more: timeline.next !== null };
    } catch (error) {
      if (mine.aborted) return;
      if (!(error instanceof ApiError)) throw error;
      state.value = { ...state.peek(), error };
    }
  }

  const start = (person = false) => {
    loading += 1;
    return load(person).catch(reportError).finally(() => {
      loading -= 1;
      if (loading || !again) return;
      again = false;
      soon();
    });
  };
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let waiting;
  /** Reads anew, but lets come what is on its way. */
  const soon = () => {
    clearTimeout(waiting);
    if (wanted().asOf !== null) return;
    if (loading) again = true;
    else waiting = setTimeout(start, SETTLE);
  };
  const stop = listen(soon);
  const timer = setInterval(() => document.visibilityState === "visible" && session.peek() && wanted().asOf === null && start(), ASK_EVERY);

  return {
    state,
    reload: start,
    /** Reads more if the view has left what was read. */
    follow() {
      const { view, type, asOf } = wanted();
      if (!covers(asked, view) || asked.type !== type || asked.asOf !== asOf) start(true);
    },
    close() {
      stop();
      clearTimeout(waiting);
      clearInterval(timer);
      current.abort();
    },
  };
}

/** @param {number} moment */
function iso(moment) {
  return new Date(moment * 1000).toISOString().replace(/\.\d+Z$/, "Z");
}
