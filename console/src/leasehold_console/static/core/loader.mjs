// Reads something of the service for a page, and reads it again.

import { signal } from "../vendor/signals-core/signals-core.mjs";
import { ApiError } from "../api/http.mjs";

/**
 * @template T
 * @typedef {object} Loaded
 * @property {T | undefined} value what was read last
 * @property {ApiError | null} error why the last reading failed
 * @property {boolean} busy
 */

/**
 * Makes a loader. Its signal `state` is what a view shows; `reload` reads anew and drops what is under way; `close` ends it.
 * @template T
 * @param {(signal: AbortSignal) => Promise<T>} read
 */
export function loader(read) {
  /** @type {import("../vendor/signals-core/signals-core.mjs").Signal<Loaded<T>>} */
  const state = signal(/** @type {Loaded<T>} */ ({ value: undefined, error: null, busy: false }));
  let current = new AbortController();

  async function reload() {
    current.abort();
    const mine = (current = new AbortController());
    state.value = { ...state.peek(), busy: true };
    try {
      const value = await read(mine.signal);
      if (!mine.signal.aborted) state.value = { value, error: null, busy: false };
    } catch (error) {
      if (mine.signal.aborted) return;
      if (!(error instanceof ApiError)) throw error;
      state.value = { value: state.peek().value, error, busy: false };
    }
  }

  return { state, reload, close: () => current.abort() };
}
