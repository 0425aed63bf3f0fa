// What a page is. `open` is called when the address comes to it, and again only when its path changes; the query of the
// address is read from the signal `route` in router.mjs.

/**
 * @typedef {object} Page
 * @property {() => string} title
 * @property {() => import("./html.mjs").View} view reads signals; drawn again when one of them changes
 * @property {readonly import("./keys.mjs").Key[]} [keys]
 * @property {boolean} [wide] it takes the whole window, without a margin
 * @property {() => void} [close] ends what it has begun: polls, listeners, timers
 *
 * @typedef {object} PageModule
 * @property {(parameters: Record<string, string>) => Page} open
 *
 * @typedef {object} Entry
 * @property {string} form its path, "leases/:id"
 * @property {() => Promise<PageModule>} load
 * @property {string} [nav] its name in the header; left out: it is not there
 * @property {() => boolean} [when] whether this caller sees it in the header
 * @property {string} [key] the key that goes there
 */
export {};
