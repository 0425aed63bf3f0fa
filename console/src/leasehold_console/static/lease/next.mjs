// The line that says what comes next of a lease, for every page.

import { html } from "../core/html.mjs";
import { badge } from "../components/parts.mjs";
import { now } from "../core/settings.mjs";
import { texts } from "../core/texts.mjs";
import catalogue from "../texts/en/leases.mjs";
import { kindOf, next } from "./words.mjs";

const t = texts(catalogue);

/** The status as a badge. @param {import("./words.mjs").Lease} lease */
export function status(lease) {
  const key = /** @type {keyof typeof catalogue} */ (lease.status);
  return badge(key in catalogue ? t(key) : lease.status.toLowerCase(), kindOf(lease));
}

/** "ends in 3 h". @param {import("./words.mjs").Lease} lease */
export function countdown(lease) {
  const { what, when } = next(lease, now.value);
  const keys = /** @type {const} */ ({ starts: "next_starts", ends: "next_ends", over: "next_over", open: "next_open", "tried until": "next_tried" });
  return html`<span>${t(keys[what], { when })}</span>`;
}
