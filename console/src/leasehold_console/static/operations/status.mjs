// How the deliveries of a subscription fare, as a word in a colour.

import { badge } from "../components/parts.mjs";
import { texts } from "../core/texts.mjs";
import catalogue from "../texts/en/operations.mjs";

const t = texts(catalogue);
const KINDS = /** @type {const} */ ({ active: "good", failing: "warn", suspended: "bad" });

/** @param {string} status */
export function deliveryStatus(status) {
  const known = /** @type {keyof typeof KINDS} */ (status);
  return known in KINDS ? badge(t(`status_${known}`), KINDS[known]) : badge(status);
}
