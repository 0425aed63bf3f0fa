// Keys: a page says which it has, and `?` lists them.

import { signal } from "../vendor/signals-core/signals-core.mjs";

/**
 * @typedef {object} Key
 * @property {string} key as in KeyboardEvent.key
 * @property {string} says what it does, for the list
 * @property {() => void} [run] left out where the key is handled elsewhere, in a grid for instance
 */

/** Keys of the shell. @type {import("../vendor/signals-core/signals-core.mjs").Signal<readonly Key[]>} */
export const shellKeys = signal(/** @type {readonly Key[]} */ ([]));
/** Keys of the page that is open. @type {import("../vendor/signals-core/signals-core.mjs").Signal<readonly Key[]>} */
export const pageKeys = signal(/** @type {readonly Key[]} */ ([]));
export const listing = signal(false);

/** @param {EventTarget | null} target */
function types(target) {
  return target instanceof Element && target.closest("input, textarea, select, [contenteditable], dialog") !== null;
}

/** Hears keys that are pressed where nothing is typed. */
export function hearKeys() {
  addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || types(event.target)) return;
    const found = [...pageKeys.peek(), ...shellKeys.peek()].find((each) => each.key === event.key && each.run);
    if (!found?.run) return;
    event.preventDefault();
    found.run();
  });
}
