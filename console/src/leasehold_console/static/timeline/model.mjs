// What GET /v1/timeline answers, as columns for drawing. Pure. Times are seconds since 1970.

import { indexBars } from "./bars.mjs";
import { indexSteps } from "./steps.mjs";

/** @typedef {import("../../../../types/api").TimelineAnswer} Answer */

/** How a bar is drawn; the order is that in which they are drawn, one over the other. */
export const LOOKS = /** @type {const} */ (["taken", "closed", "after", "broken", "offer", "project", "mine"]);
/** @typedef {typeof LOOKS[number]} Look */
/** How the lease of a bar fares; drawn instead of whose it is, if that is asked for. */
export const FARES = /** @type {const} */ (["pending", "starting", "active", "risk", "degraded", "error"]);
/** @typedef {typeof FARES[number]} Fare */
const FARE_OF_STATUS = /** @type {Record<string, Fare>} */ ({
  CREATING: "pending",
  PENDING: "pending",
  STARTING: "starting",
  ACTIVE: "active",
  UPDATING: "active",
  ERROR: "error",
});
/** The looks of what is the caller's come last. */
const OWN_FROM = LOOKS.indexOf("offer");
const LOOK_OF_KIND = /** @type {Record<string, Look>} */ ({
  taken: "taken",
  maintenance: "closed",
  lead: "after",
  grace: "after",
  emptying: "after",
  vacated: "broken",
  offer: "offer",
});
const BROKEN = new Set(["failed", "down", "returning"]);

/** @param {string} kind @param {string} whose @returns {Look} */
export function lookOf(kind, whose) {
  if (kind === "lease") return whose === "mine" ? "mine" : whose === "project" ? "project" : "taken";
  return LOOK_OF_KIND[kind] ?? "taken";
}

/** How a lease fares, the worst that is known; null: it is over, or no lease. @param {LeaseRow | undefined} lease @returns {Fare | null} */
export function fareOf(lease) {
  const fare = FARE_OF_STATUS[lease?.status ?? ""] ?? null;
  if (!lease || fare === null || fare === "error") return fare;
  return lease.degraded ? "degraded" : lease.atRisk ? "risk" : fare;
}

/**
 * @typedef {object} LeaseRow
 * @property {string} id
 * @property {string | null} name
 * @property {string | null} status
 * @property {"mine" | "project" | "other"} whose
 * @property {string | null} project
 * @property {number | null} start
 * @property {number | null} end null: open, or purged
 * @property {boolean} degraded something of it is missing
 * @property {boolean} atRisk it has not started, and what it has may not be there then
 *
 * @typedef {object} Model
 * @property {number} from
 * @property {number} to
 * @property {number} now as of when it is
 * @property {number} read when it was read
 * @property {{name: string, type: string, amount: number}[]} unplaced what leases were to have that had not begun then
 * @property {string} cursor
 * @property {number} rows how many
 * @property {string[]} ids
 * @property {(string | null)[]} names
 * @property {Uint8Array} closed for each row: 0 in use, 1 failed, 2 not to be had
 * @property {string[]} states for each row
 * @property {(string | null)[]} reasons for each row
 * @property {number[]} cleaning for each row: seconds that have to be free between two bars
 * @property {boolean[]} identified for each row
 * @property {string[]} types for each row
 * @property {Map<string, {values: any[], index: number[]}>} properties
 * @property {Record<string, (number | null)[]>} capacity
 * @property {import("./bars.mjs").Bars} bars
 * @property {Uint8Array} looks of the bars, an index into LOOKS
 * @property {string[]} kinds of the bars
 * @property {Int32Array} leaseOf of the bars, -1: nobody's that is told
 * @property {Int32Array} amountOf of the bars, -1: the whole resource
 * @property {Record<string, number[]>} amounts
 * @property {Int32Array} own bars that are the caller's, and their rows one after the other: bar, row, bar, row
 * @property {Set<number>} substitutes
 * @property {LeaseRow[]} leases
 * @property {import("./steps.mjs").Steps} steps of rows that several share
 */

/** @param {Answer} answer @returns {Model} */
export function modelOf(answer) {
  const from = Date.parse(answer.from) / 1000;
  const to = Date.parse(answer.to) / 1000;
  const read = Math.floor(Date.parse(answer.now) / 1000);
  const now = answer.as_of === null ? read : Math.floor(Date.parse(answer.as_of) / 1000);
  const { rows, bars } = answer;
  const count = bars.row.length;
  const start = new Float64Array(count);
  const end = new Float64Array(count);
  const looks = new Uint8Array(count);
  /** @type {string[]} */
  const kinds = new Array(count);
  const leases = readLeases(answer.leases, from);
  for (let bar = 0; bar < count; bar += 1) {
    const kind = answer.kinds[bars.kind[bar] ?? 0] ?? "taken";
    const lease = bars.lease[bar] ?? -1;
    kinds[bar] = kind;
    looks[bar] = LOOKS.indexOf(lookOf(kind, leases[lease]?.whose ?? "other"));
    start[bar] = from + (bars.start[bar] ?? 0);
    const last = bars.end[bar] ?? -1;
    // Nobody knows when it is released: it is taken until now, and a little more, so that it can be seen.
    end[bar] = last >= 0 ? from + last : Math.max(now, from + (bars.start[bar] ?? 0) + 1);
  }
  const total = rows.id.length;
  const index = indexBars(total, bars.row, start, end);
  const amountOf = Int32Array.from(bars.amount);
  return {
    from,
    to,
    now,
    read,
    unplaced: answer.unplaced.lease.map((at, place) => ({
      name: leases[at]?.name ?? leases[at]?.id ?? "",
      type: answer.unplaced.resource_type[place] ?? "",
      amount: answer.unplaced.amount[place] ?? 0,
    })),
    cursor: answer.cursor,
    rows: total,
    ids: rows.id,
    names: rows.name,
    states: rows.state.map((state) => answer.states[state] ?? "ok"),
    closed: Uint8Array.from(rows.state, (state) => closedBy(answer.states[state] ?? "ok")),
    reasons: rows.reason.index.map((at) => (at < 0 ? null : String(rows.reason.values[at]))),
    cleaning: rows.type.map((type) => answer.types[type]?.cleaning_seconds ?? 0),
    identified: rows.type.map((type) => answer.types[type]?.identified ?? false),
    types: rows.type.map((type) => answer.types[type]?.resource_type ?? ""),
    properties: new Map(Object.entries(rows.properties)),
    capacity: rows.capacity,
    bars: index,
    looks,
    kinds,
    leaseOf: Int32Array.from(bars.lease),
    amountOf,
    amounts: answer.amounts,
    own: ownOf(looks, bars.row),
    substitutes: new Set(answer.substitutes),
    leases,
    steps: indexSteps(index, amountOf, answer.amounts, rows.capacity, (bar) => /** @type {number} */ (looks[bar]) >= OWN_FROM),
  };
}

/** @param {Uint8Array} looks @param {number[]} rowOf */
function ownOf(looks, rowOf) {
  /** @type {number[]} */
  const found = [];
  for (let bar = 0; bar < looks.length; bar += 1) if (/** @type {number} */ (looks[bar]) >= OWN_FROM) found.push(bar, rowOf[bar] ?? 0);
  return Int32Array.from(found);
}

/** @param {string} state */
function closedBy(state) {
  if (state === "ok") return 0;
  return BROKEN.has(state) ? 1 : 2;
}

/** @param {Answer["leases"]} columns @param {number} from @returns {LeaseRow[]} */
function readLeases(columns, from) {
  return columns.id.map((id, at) => {
    const start = columns.start[at] ?? null;
    const end = columns.end[at] ?? null;
    return {
      id,
      name: columns.name[at] ?? null,
      status: columns.status[at] ?? null,
      whose: /** @type {LeaseRow["whose"]} */ (columns.whose[at] ?? "other"),
      project: columns.project[at] ?? null,
      start: start === null ? null : from + start,
      end: end === null ? null : from + end,
      degraded: columns.degraded[at] ?? false,
      atRisk: columns.at_risk[at] ?? false,
    };
  });
}

/** What a property of a row is, as text; "" where it has none. @param {Model} model @param {string} name @param {number} row */
export function propertyOf(model, name, row) {
  const column = model.properties.get(name);
  const at = column?.index[row] ?? -1;
  return !column || at < 0 ? "" : String(column.values[at]);
}
