// The events of the log as a story, and refusals as sums. Pure.

import { parse } from "../core/time.mjs";

/** @typedef {import("../../../../types/api").LogEventAnswer} LogEvent */
/** @typedef {import("../../../../types/api").RefusalCountAnswer} Refused */
/** @typedef {"good" | "bad" | "warn" | "plain"} Kind */

/** How each type of event of the story is meant; "good" ends what is wrong. @type {Readonly<Record<string, Kind>>} */
const KINDS = {
  "resource.health": "bad",
  "resource.disabled": "plain",
  "resource.enabled": "plain",
  "resource.drawn": "plain",
  "resource.draw_failed": "bad",
  "resource.given_back": "plain",
  "lease.degraded": "bad",
  "lease.restored": "good",
  "lease.healed": "good",
  "lease.heal_question": "warn",
  "lease.at_risk": "warn",
  "lease.safe": "good",
  "lease.moved": "plain",
  "lease.rescheduled": "plain",
  "lease.swapped": "plain",
  "lease.maintenance": "plain",
  "lease.taken_back": "warn",
  "lease.budget_ends": "warn",
  "lease.budget_ended": "plain",
  "lease.budget_restored": "good",
  "lease.repair": "plain",
  "lease.no_show_warned": "warn",
  "lease.no_show_released": "plain",
  "lease.warning.failed": "bad",
  "lease.timedout": "bad",
};

/** @type {Readonly<Record<string, Kind>>} */
const HEALTH = { healthy: "good", down: "warn", failed: "bad", disabled: "plain" };

/** The types of events that the story is made of. */
export const TOLD = Object.keys(KINDS);

/** @param {LogEvent} event @returns {Kind} */
export function kindOf(event) {
  if (event.type === "resource.health") return HEALTH[String(event.payload.health)] ?? "plain";
  if (event.type === "lease.degraded" && !lacks(event)) return "plain";
  return KINDS[event.type] ?? "plain";
}

/** Whether the lease of an event lacks resources; it is degraded as well when it has others than before. @param {LogEvent} event */
export function lacks({ payload }) {
  return /** @type {{missing_resources?: boolean}[]} */ (payload.reservations ?? []).some((each) => each.missing_resources);
}

/**
 * What happened to one lease or one resource.
 * @typedef {object} Chapter
 * @property {string} key
 * @property {string} name
 * @property {string | null} lease its id; null: it is a resource
 * @property {string} kind the type of the resource, or ""
 * @property {number} last when the last event was, in milliseconds
 * @property {boolean} open whether the last word about its health is a bad one
 * @property {LogEvent[]} events newest first
 */

/**
 * The story of the events since a moment: a chapter for each lease and each resource, the one with the newest event first.
 * @param {readonly LogEvent[]} events oldest first @param {number} since
 * @returns {Chapter[]}
 */
export function story(events, since) {
  /** @type {Map<string, LogEvent[]>} */
  const chapters = new Map();
  for (const event of events) {
    if (parse(event.time) < since) continue;
    const key = event.lease_id ?? `${event.resource_type} ${event.resource_id}`;
    const so = chapters.get(key);
    if (so) so.unshift(event);
    else chapters.set(key, [event]);
  }
  return [...chapters].map(([key, those]) => chapter(key, those)).sort((one, other) => other.last - one.last);
}

/** @param {string} key @param {LogEvent[]} events newest first @returns {Chapter} */
function chapter(key, events) {
  const [newest] = /** @type {[LogEvent]} */ (events);
  const verdict = events.map(kindOf).find((kind) => kind !== "plain");
  return {
    key,
    name: String(newest.payload.name || newest.lease_id || newest.resource_id),
    lease: newest.lease_id,
    kind: newest.resource_type ?? "",
    last: parse(newest.time),
    open: verdict === "bad" || verdict === "warn",
    events,
  };
}

/**
 * The refused requests by reason, the most frequent reason first.
 * @param {readonly Refused[]} refusals
 */
export function byReason(refusals) {
  /** @type {Map<string, {key: string, code: string, kind: string, refused: number}>} */
  const sums = new Map();
  for (const { code, resource_type: type, refused } of refusals) {
    const kind = type ?? "";
    const key = `${code} ${kind}`;
    const sum = sums.get(key) ?? { key, code, kind, refused: 0 };
    sum.refused += refused;
    sums.set(key, sum);
  }
  return [...sums.values()].sort((one, other) => other.refused - one.refused);
}

/**
 * For each resource type, how many of its refused requests would have been granted with so many more resources.
 * A request for which no more resources would have helped (`missing` is 0) is in `all` and in no step.
 * @param {readonly Refused[]} refusals
 */
export function wouldHaveGranted(refusals) {
  const kinds = [...new Set(refusals.flatMap((each) => (each.resource_type && each.missing ? [each.resource_type] : [])))].sort();
  return kinds.map((kind) => {
    const mine = refusals.filter((each) => each.resource_type === kind);
    const sizes = [...new Set(mine.map((each) => each.missing))].filter(Boolean).sort((one, other) => one - other);
    /** @param {(each: Refused) => boolean} which */
    const count = (which) => mine.filter(which).reduce((sum, each) => sum + each.refused, 0);
    return {
      kind,
      all: count(() => true),
      steps: sizes.map((missing) => ({ missing, granted: count((each) => each.missing > 0 && each.missing <= missing) })),
    };
  });
}
