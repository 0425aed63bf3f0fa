// What somebody fills in to get a lease, the request that it means, and the commands for it. Pure.

import { quoted } from "../core/command.mjs";
import { DAY, HOUR, MINUTE, SECOND, fromLocal, iso, parse, toLocal } from "../core/time.mjs";

/** @typedef {"physical:host" | "virtual:instance" | "flavor:instance" | "virtual:floatingip"} Type */
/** @typedef {"once" | "daily" | "weekly"} Repeats */

/**
 * @typedef {object} Part
 * @property {Type} type
 * @property {string} count
 * @property {string} vcpus
 * @property {string} memory_mb
 * @property {string} disk_gb
 * @property {string} flavor
 * @property {string} network
 * @property {Record<string, readonly string[]>} chosen values by property; of one property any will do
 *
 * @typedef {object} Form
 * @property {string} name
 * @property {string} purpose "" for none
 * @property {string} start for an `<input type=datetime-local>`; "" means now
 * @property {string} hours
 * @property {readonly Part[]} parts
 * @property {Repeats} repeats
 * @property {string} times how often
 * @property {string} template
 * @property {number} within so many seconds later it may start
 */

/** @param {Partial<Part>} [facts] @returns {Part} */
export function newPart(facts = {}) {
  return { type: "physical:host", count: "1", vcpus: "2", memory_mb: "4096", disk_gb: "20", flavor: "", network: "", chosen: {}, ...facts };
}

/**
 * The form as it begins, with what the address says: `hosts`, `from` and `until` in UTC, `where` as JSON.
 * @param {URLSearchParams} query @param {string} zone
 * @returns {Form}
 */
export function newForm(query, zone) {
  const from = query.get("from");
  const until = query.get("until");
  const start = from ? parse(from) : NaN;
  const end = until ? parse(until) : NaN;
  const hours = end > start ? (end - start) / HOUR : 3;
  const chosen = /** @type {Record<string, string[]>} */ (JSON.parse(query.get("where") ?? "{}"));
  return {
    name: query.get("name") ?? "",
    purpose: "",
    start: Number.isNaN(start) ? "" : toMinute(start, zone),
    hours: String(Math.round(hours * 100) / 100),
    parts: [newPart({ count: query.get("hosts") ?? "1", chosen })],
    repeats: "once",
    times: "5",
    template: "",
    within: 0,
  };
}

/** A moment as the field shows it: the next whole minute, because what is free from a moment on is not free before. @param {number} moment @param {string} zone */
function toMinute(moment, zone) {
  return toLocal(Math.ceil(moment / MINUTE) * MINUTE, zone);
}

/** What to ask of a host or a slot: one of the chosen values of each property. @param {Record<string, readonly string[]>} chosen */
export function conditionOf(chosen) {
  const parts = Object.entries(chosen)
    .filter(([, values]) => values.length)
    .map(([name, values]) => (values.length === 1 ? ["==", `$${name}`, values[0]] : ["in", `$${name}`, ...values]));
  if (!parts.length) return "";
  return JSON.stringify(parts.length === 1 ? parts[0] : ["and", ...parts]);
}

/** @param {Part} part @returns {Record<string, unknown>} */
export function reservation({ type, count, vcpus, memory_mb, disk_gb, flavor, network, chosen }) {
  const amount = Number(count);
  if (type === "virtual:floatingip") return { resource_type: type, network_id: network, amount };
  if (type === "flavor:instance") return { resource_type: type, flavor_id: flavor, amount, affinity: null };
  const where = conditionOf(chosen);
  if (type === "virtual:instance")
    return {
      ...{ resource_type: type, amount, affinity: null, resource_properties: where },
      ...{ vcpus: Number(vcpus), memory_mb: Number(memory_mb), disk_gb: Number(disk_gb) },
    };
  return { resource_type: type, min: amount, max: amount, hypervisor_properties: "", resource_properties: where };
}

/**
 * The body of POST /v1/leases; null while something is missing. Offers and series have no `ready_within_seconds`.
 * @param {Form} form @param {string} zone
 * @returns {Record<string, unknown> | null}
 */
export function body({ name, purpose, start, hours, parts, template, within }, zone) {
  const seconds = Math.round(Number(hours) * 3600);
  const begin = start ? fromLocal(start, zone) : null;
  if (!(seconds > 0) || (begin !== null && Number.isNaN(begin))) return null;
  const incomplete = parts.some(({ type, count, flavor, network }) =>
    !(Number(count) >= 1) || (type === "flavor:instance" && !flavor) || (type === "virtual:floatingip" && !network));
  if (incomplete && !template) return null;
  return {
    name: name.trim() || "lease",
    ...(purpose.trim() ? { purpose: purpose.trim() } : {}),
    start_date: begin === null ? "now" : iso(begin),
    duration_seconds: seconds,
    ...(within ? { ready_within_seconds: within } : {}),
    ...(template ? { template } : { reservations: parts.map(reservation) }),
  };
}

/** The rule of RFC 5545 by which it recurs. @param {Form} form */
export function rule({ repeats, times }) {
  return `FREQ=${repeats === "daily" ? "DAILY" : "WEEKLY"};COUNT=${Math.max(1, Math.round(Number(times)) || 1)}`;
}

/**
 * @typedef {object} CounterOffer something that would be granted in place of what was refused
 * @property {"window" | "within" | "fewer"} kind
 * @property {number} [start] milliseconds
 * @property {number} [end]
 * @property {string} [type] of the part that has to be smaller
 * @property {number} [count]
 * @property {number} [within] seconds
 * @property {Cost} [cost] where anything has a price
 */

/** @typedef {{total: string, unit: string}} Cost */

/** What a refusal offers. @param {Record<string, any>} details @returns {CounterOffer[]} */
export function counterOffers(details) {
  /** @type {CounterOffer[]} */
  const found = [];
  const nearest = details["nearest"];
  // What sleeps is ready so long after it is asked for, so the window of now would be gone.
  const within = details["ready_within_seconds"];
  if (within) found.push({ kind: "within", within });
  else if (nearest) found.push({ kind: "window", start: parse(nearest.start), end: parse(nearest.end), ...costing(details, "nearest") });
  if (details["largest"] > 0 && details["largest"] < details["asked"])
    found.push({ kind: "fewer", type: details["resource_type"], count: details["largest"], ...costing(details, "largest") });
  return found;
}

/** @param {Record<string, any>} details @param {string} offer @returns {{cost?: Cost}} */
function costing(details, offer) {
  const cost = details["estimates"]?.[offer]?.cost;
  return cost ? { cost } : {};
}

/** The form with an offer taken. @param {Form} form @param {CounterOffer} offer @param {string} zone @returns {Form} */
export function taking(form, offer, zone) {
  if (offer.kind === "window" && offer.start !== undefined && offer.end !== undefined)
    return { ...form, start: toMinute(offer.start, zone), hours: String((offer.end - offer.start) / HOUR) };
  if (offer.kind === "within") return { ...form, within: offer.within ?? 0 };
  const parts = form.parts.map((part) => (part.type === offer.type ? { ...part, count: String(offer.count) } : part));
  return { ...form, parts };
}

/** The command that does the same. @param {Record<string, unknown>} request @param {string} [verb] */
export function command(request, verb = "lease create") {
  const words = [`leasehold ${verb} ${quoted(String(request["name"]))}`];
  if (request["purpose"]) words.push(`--purpose ${quoted(String(request["purpose"]))}`);
  if (request["template"]) words.push(`--template ${quoted(String(request["template"]))}`);
  for (const each of /** @type {Record<string, unknown>[]} */ (request["reservations"] ?? [])) {
    const values = Object.entries(each).filter(([, value]) => value !== null && value !== "");
    words.push(`--reservation ${quoted(values.map(([key, value]) => `${key}=${value}`).join(","))}`);
  }
  if (request["start_date"] !== "now") words.push(`--from ${request["start_date"]}`);
  words.push(`--for ${lasting(Number(request["duration_seconds"]) * SECOND)}`);
  if (request["ready_within_seconds"]) words.push(`--ready-within ${lasting(Number(request["ready_within_seconds"]) * SECOND)}`);
  return words.join(" ");
}

/** "1d", "3h", "90m". @param {number} length */
function lasting(length) {
  if (length % DAY === 0) return `${length / DAY}d`;
  return length % HOUR === 0 ? `${length / HOUR}h` : `${Math.ceil(length / MINUTE)}m`;
}
