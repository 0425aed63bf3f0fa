// The view as it is in the address: what is shown can be sent to somebody. Pure.

/** @typedef {typeof SIZES[number]} Size */
export const SIZES = /** @type {const} */ (["large", "small", "tiny", "all"]);
export const SPANS = /** @type {const} */ (["12h", "1d", "3d", "7d", "14d", "30d", "90d"]);
export const TYPES = /** @type {const} */ (["physical:host", "virtual:floatingip"]);
export const COLOURS = /** @type {const} */ (["whose", "fare"]);
export const MAKES = /** @type {const} */ (["lease", "maintenance"]);
const UNITS = /** @type {Record<string, number>} */ ({ m: 60, h: 3600, d: 86400 });
const PREFIX = "p.";

/**
 * @typedef {object} Wish
 * @property {number | null} from seconds; null: about now
 * @property {number} span seconds
 * @property {string | null} by a property to group by; "" for no groups; null: not said
 * @property {string} text
 * @property {Record<string, string[]>} properties
 * @property {Size | null} size null: not said
 * @property {"picture" | "table" | null} as null: not said
 * @property {string} type
 * @property {"whose" | "fare"} colour what the colours of bars say
 * @property {"lease" | "maintenance"} makes what a drag makes
 * @property {number | null} asOf seconds: the moment as of which it is asked; null: now
 */

/** Seconds of "7d", "12h", "90m"; NaN for anything else. @param {string} text */
export function seconds(text) {
  const found = /^(\d{1,6})([mhd])$/.exec(text);
  return found ? Number(found[1]) * (UNITS[found[2] ?? ""] ?? NaN) : NaN;
}

/** @param {number} length */
export function words(length) {
  for (const unit of ["d", "h"]) if (length % (UNITS[unit] ?? 1) === 0) return `${length / (UNITS[unit] ?? 1)}${unit}`;
  return `${Math.max(1, Math.round(length / 60))}m`;
}

/** @param {URLSearchParams} query @returns {Wish} */
export function readWish(query) {
  const from = Date.parse(query.get("from") ?? "") / 1000;
  const span = seconds(query.get("span") ?? "");
  const size = query.get("rows");
  const as = query.get("as");
  /** @type {Record<string, string[]>} */
  const properties = {};
  for (const [name, value] of query) if (name.startsWith(PREFIX) && value) properties[name.slice(PREFIX.length)] = value.split(",").map(decodeURIComponent);
  const type = query.get("type") ?? "";
  const asOf = Date.parse(query.get("as_of") ?? "") / 1000;
  return {
    from: Number.isFinite(from) ? from : null,
    span: span >= 600 && span <= 130 * 86400 ? span : 7 * 86400,
    by: query.get("by"),
    text: query.get("q") ?? "",
    properties,
    size: SIZES.find((each) => each === size) ?? null,
    as: as === "table" || as === "picture" ? as : null,
    type: TYPES.find((each) => each === type) ?? TYPES[0],
    colour: query.get("colour") === "fare" ? "fare" : "whose",
    makes: query.get("makes") === "maintenance" ? "maintenance" : "lease",
    asOf: Number.isFinite(asOf) ? asOf : null,
  };
}

/** The keys of the address for a part of time. @param {{from: number, to: number}} view */
export function wordsOfView(view) {
  return { from: new Date(Math.round(view.from / 60) * 60_000).toISOString().replace(/:\d\d\.\d+Z$/, "Z"), span: words(Math.round((view.to - view.from) / 60) * 60) };
}

/** The key of the address for a filter by one property. @param {string} name @param {readonly string[]} values @returns {Record<string, string | undefined>} */
export function wordsOfFilter(name, values) {
  return { [PREFIX + name]: values.length ? values.map(encodeURIComponent).join(",") : undefined };
}
