// Hosts in words: their state, what holds them, and whether they match what somebody looks for. Pure.

import { parse } from "../core/time.mjs";

/** @typedef {import("../../../../types/api").ResourceAnswer} Host */
/** @typedef {import("../../../../types/api").AllocationAnswer} Allocation */
/** @typedef {import("../../../../types/api").ReservedAnswer} Reserved */
/** @typedef {"healthy" | "down" | "failed" | "asleep" | "out_there" | "disabled"} State */

/** The state of a host that says the most; what an operator has disabled comes before what the cloud says. @param {Host} host @returns {State} */
export function stateOf(host) {
  if (host.disabled) return "disabled";
  if (host.health === "disabled") return "out_there";
  return host.health === "down" || host.health === "failed" || host.health === "asleep" ? host.health : "healthy";
}

/** "rack=r1, gpu=yes". @param {Host} host */
export function propertiesOf(host) {
  return Object.entries(host.properties).map(([key, value]) => `${key}=${value}`).sort();
}

/** @param {Host} host */
export function zoneOf(host) {
  return String(host.attributes["availability_zone"] ?? "");
}

/**
 * Whether each word of a text is a part of the host's name, zone, state, pool, reason or of one of its properties.
 * @param {Host} host @param {string} text
 */
export function matches(host, text) {
  const said = [host.name, zoneOf(host), stateOf(host), host.pool, host.disabled_reason ?? "", ...propertiesOf(host)].map((each) => String(each).toLowerCase());
  return text.toLowerCase().split(/\s+/).every((word) => said.some((each) => each.includes(word)));
}

/**
 * What holds a host now, and what holds it next.
 * @param {Allocation | undefined} allocation @param {number} now
 * @returns {{now: Reserved | null, next: Reserved | null}}
 */
export function heldBy(allocation, now) {
  const ahead = (allocation?.reservations ?? [])
    .filter((each) => parse(each.end_date) > now)
    .sort((one, other) => parse(one.start_date) - parse(other.start_date));
  return {
    now: ahead.find((each) => parse(each.start_date) <= now) ?? null,
    next: ahead.find((each) => parse(each.start_date) > now) ?? null,
  };
}
