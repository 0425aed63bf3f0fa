// What a part of the page of a lease is: it reads something of its own, shows it, and ends what it has begun.

/**
 * @typedef {object} Part
 * @property {(lease: import("./words.mjs").Lease) => Promise<void>} [reload]
 * @property {() => void} [close]
 */
export {};
