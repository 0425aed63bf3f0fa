// By how much a lease can be extended. Pure, but for `bound`, which asks the service.

import { call } from "../api/http.mjs";
import { ApiError } from "../api/http.mjs";
import { DAY, HOUR, SECOND, parse } from "../core/time.mjs";

/** @typedef {{length: number, fits: boolean}} Length in milliseconds */
/** @typedef {{until: number | null, reason: string}} Bound until: how late it could end, null: as late as was asked */

const STEPS = [HOUR, 4 * HOUR, DAY, 7 * DAY];
const FAR = 30 * DAY;

/** The lengths that are offered. @param {number} end @param {number | null} until @returns {Length[]} */
export function lengths(end, until) {
  return STEPS.map((length) => ({ length, fits: until === null || end + length <= until }));
}

/** The largest length that fits, where that is less than was asked for. @param {number} end @param {number | null} until @returns {Length | null} */
export function longest(end, until) {
  return until !== null && until > end ? { length: until - end, fits: true } : null;
}

/**
 * Asks how late a lease could end; nothing is changed.
 * @param {import("./words.mjs").Lease} lease @param {AbortSignal} signal
 * @returns {Promise<Bound>}
 */
export async function bound(lease, signal) {
  /** @param {number} length */
  const tried = (length) => call("PUT /v1/leases/{lease_id}", {
    path: { lease_id: lease.id },
    body: { end_date: new Date(parse(lease.end_date) + length).toISOString(), dry_run: true },
    signal,
  });
  try {
    await tried(FAR);
    return { until: null, reason: "" };
  } catch (error) {
    if (!(error instanceof ApiError) || error.status === 0) throw error;
    const latest = error.details["latest_end"];
    if (latest) return { until: parse(latest), reason: error.message };
    // A limit, a budget, or a lease that cannot be changed now: find the longest of the steps that is granted.
    const [end, paid] = [parse(lease.end_date), error.details["end_date"]];
    return { until: await largestGranted(tried, end, steps(paid ? parse(paid) - end : 0), signal), reason: error.message };
  }
}

/** The lengths that are tried, with that which a budget pays for; 0: nobody says how long that is. @param {number} paid */
export function steps(paid) {
  return paid > 0 ? [...STEPS, paid].sort((one, other) => one - other) : STEPS;
}

/** @param {(length: number) => Promise<unknown>} tried @param {number} end @param {readonly number[]} some @param {AbortSignal} signal */
async function largestGranted(tried, end, some, signal) {
  let until = end;
  for (const length of some) {
    try {
      await tried(length);
      until = end + length;
    } catch (error) {
      if (signal.aborted || !(error instanceof ApiError)) throw error;
      break;
    }
  }
  return Math.floor(until / SECOND) * SECOND;
}
