// What the page of capacity asks about: a resource type, and what tells its units apart. Pure.

export const SPANS = /** @type {const} */ (["7", "30", "90"]);
export const HOSTS = "physical:host";
const SLOTS = "virtual:instance";
const FLAVOR = "flavor:instance";
const ADDRESSES = "virtual:floatingip";
/** The size with which a question about instances begins. */
const SIZE = { vcpus: "2", memory_mb: "4096", disk_gb: "20" };

/** @typedef {"where" | "network" | "flavor" | keyof typeof SIZE} Key what the address has for a type */
/** @typedef {Partial<Record<Key, string>>} Values */
/** @typedef {{type: string, days: number, values: Values}} Question */

/** The keys of the address that say what is counted, by type; a type that is not listed has none. @type {Readonly<Record<string, readonly Key[]>>} */
const KEYS = {
  [HOSTS]: ["where"],
  [SLOTS]: ["vcpus", "memory_mb", "disk_gb", "where"],
  [FLAVOR]: ["flavor"],
  [ADDRESSES]: ["network"],
};

/** The keys of a type. @param {string} type @returns {readonly Key[]} */
export function keysOf(type) {
  return KEYS[type] ?? [];
}

/** What the address of another type begins with. @param {string} from @param {string} to @returns {Record<string, string | undefined>} */
export function turning(from, to) {
  // What told the units of one type apart says nothing about those of the other.
  const before = Object.fromEntries(keysOf(from).map((key) => [key, undefined]));
  return { ...before, ...(to === SLOTS ? SIZE : {}), type: to === HOSTS ? undefined : to };
}

/** What an address asks about. @param {URLSearchParams} query @returns {Question} */
export function questionOf(query) {
  const type = query.get("type") ?? HOSTS;
  /** @type {Values} */
  const values = {};
  for (const key of keysOf(type)) values[key] = query.get(key) ?? "";
  return { type, days: Number(SPANS.find((each) => each === query.get("days")) ?? SPANS[0]), values };
}

/** The first value without which the service cannot count. @param {Question} question @returns {Key | undefined} */
export function missing({ type, values }) {
  return keysOf(type).find((key) => key !== "where" && !values[key]);
}

/** The question as keys of GET /v1/availability. @param {Question} question @returns {Record<string, string>} */
export function asked({ type, values: { where, network, flavor, ...sizes } }) {
  return {
    resource_type: type,
    ...(where ? { resource_properties: where } : {}),
    ...(network ? { network_id: network } : {}),
    ...(flavor ? { flavor_id: flavor } : {}),
    ...sizes,
  };
}

/**
 * The question as keys of GET /v1/timeline; null where the past is not recorded in such units: an instance is a part of a host.
 * @param {Question} question @returns {Record<string, string> | null}
 */
export function recorded({ type, values }) {
  if (type === SLOTS || type === FLAVOR) return null;
  const condition = type === ADDRESSES ? JSON.stringify(["==", "$floating_network_id", values.network]) : values.where;
  return { resource_type: type, ...(condition ? { resource_properties: condition } : {}) };
}

/**
 * The question as keys of GET /v1/forecast; null where that counts others: it knows neither conditions nor parts of hosts.
 * @param {Question} question @returns {Record<string, string> | null}
 */
export function foreseen({ type, days, values }) {
  if (type !== HOSTS || values.where) return null;
  return { resource_type: type, step_seconds: days > Number(SPANS[0]) ? "86400" : "3600" };
}
