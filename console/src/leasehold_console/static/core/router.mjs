// The view is in the hash of the URL, so the server sends one file whatever is shown: #/leases/4f2a?tab=history

import { signal } from "../vendor/signals-core/signals-core.mjs";

/**
 * @typedef {object} Route
 * @property {string} path without the leading slash, "timeline"
 * @property {URLSearchParams} query
 */

/** @param {string} hash @returns {Route} */
export function read(hash) {
  const [path = "", query = ""] = hash.replace(/^#\/?/, "").split(/\?(.*)/s);
  return { path: path.replace(/\/+$/, ""), query: new URLSearchParams(query) };
}

/** @param {string} path @param {Record<string, string | undefined> | URLSearchParams} [query] */
export function href(path, query = {}) {
  const words = query instanceof URLSearchParams ? query : new URLSearchParams();
  if (!(query instanceof URLSearchParams)) {
    for (const [name, value] of Object.entries(query)) if (value !== undefined && value !== "") words.set(name, value);
  }
  const text = String(words);
  return `#/${path}${text ? `?${text}` : ""}`;
}

/**
 * The parameters of a path, if it has the form: `match("leases/:id", "leases/4f2a")` is `{ id: "4f2a" }`.
 * @param {string} form @param {string} path
 * @returns {Record<string, string> | null}
 */
export function match(form, path) {
  const wanted = form.split("/");
  const given = path.split("/");
  if (wanted.length !== given.length) return null;
  /** @type {Record<string, string>} */
  const found = {};
  for (const [index, word] of wanted.entries()) {
    const part = given[index] ?? "";
    if (word.startsWith(":")) found[word.slice(1)] = decodeURIComponent(part);
    else if (word !== part) return null;
  }
  return found;
}

/** Where the console is now. */
export const route = signal(read(globalThis.location?.hash ?? ""));

/** Goes to another page, or another view of the same. @param {string} path @param {Record<string, string | undefined>} [query] */
export function go(path, query = {}) {
  location.hash = href(path, query);
}

/**
 * Changes keys of the query of this page, without a step in the history of the browser.
 * @param {Record<string, string | undefined>} changes `undefined` and "" remove a key
 */
export function adjust(changes) {
  const query = new URLSearchParams(route.peek().query);
  for (const [name, value] of Object.entries(changes)) {
    if (value === undefined || value === "") query.delete(name);
    else query.set(name, value);
  }
  if (String(query) === String(route.peek().query)) return;
  const path = route.peek().path;
  history.replaceState(null, "", href(path, query));
  route.value = { path, query };
}

/** Follows the address bar from now on. */
export function followAddress() {
  addEventListener("hashchange", () => {
    route.value = read(location.hash);
  });
}
