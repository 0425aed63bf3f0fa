// The requests that a draft means, and their commands. Pure.

import { quoted } from "../core/command.mjs";
import { iso } from "../core/time.mjs";
import { propertyOf } from "./model.mjs";

/** @typedef {import("./model.mjs").Model} Model */
/** Which hosts a draft asks for: those that were dragged over, such as they are, or any. @typedef {"these" | "like" | "any"} Which */

const LONGEST_VALUE = 60;

/** Whether the rows have names by which they can be asked for. @param {Model} model @param {readonly number[]} rows */
export function areNamed(model, rows) {
  return rows.every((row) => model.identified[row] && model.names[row]);
}

/**
 * The condition that some rows match and that tells them from others: the properties in which they agree.
 * @param {Model} model @param {readonly number[]} rows
 * @returns {unknown[] | null}
 */
export function conditionLike(model, rows) {
  const parts = [];
  for (const [name, column] of model.properties) {
    const values = new Set(rows.map((row) => propertyOf(model, name, row)));
    const [value] = values;
    if (values.size === 1 && value && value.length <= LONGEST_VALUE && column.values.length > 1) parts.push(["==", `$${name}`, value]);
  }
  return parts.length > 1 ? ["and", ...parts] : (parts[0] ?? null);
}

/** @param {Model} model @param {readonly number[]} rows @returns {unknown[] | null} */
export function conditionThese(model, rows) {
  const parts = rows.map((row) => ["==", "$hypervisor_hostname", model.names[row]]);
  return parts.length > 1 ? ["or", ...parts] : (parts[0] ?? null);
}

/**
 * What the filter of the page asks for.
 * @param {Record<string, string[]>} properties
 * @returns {unknown[] | null}
 */
export function conditionOfFilter(properties) {
  const parts = Object.entries(properties).filter(([, values]) => values.length).map(([name, values]) => {
    const each = values.map((value) => ["==", `$${name}`, value]);
    return each.length > 1 ? ["or", ...each] : each[0];
  });
  return parts.length > 1 ? ["and", ...parts] : (parts[0] ?? null);
}

/**
 * @typedef {object} Wanted
 * @property {string} name
 * @property {number} start seconds
 * @property {number} end
 * @property {number} count
 * @property {unknown[] | null} condition
 */

/** The body of POST /v1/leases. @param {Wanted} wanted */
export function leaseBody({ name, start, end, count, condition }) {
  return {
    name,
    start_date: iso(start * 1000),
    end_date: iso(end * 1000),
    reservations: [
      { resource_type: /** @type {const} */ ("physical:host"), min: count, max: count, hypervisor_properties: "", resource_properties: condition ? JSON.stringify(condition) : "" },
    ],
  };
}

/** A moment as the command line takes it, in UTC. @param {number} moment seconds */
function utc(moment) {
  return new Date(moment * 1000).toISOString().slice(0, 16).replace("T", " ");
}

/** @param {Wanted} wanted */
export function createCommand({ name, start, end, count, condition }) {
  const words = ["leasehold lease create", quoted(name), `--start-date ${quoted(utc(start))}`, `--end-date ${quoted(utc(end))}`, `--hosts ${count}`];
  if (condition) words.push(`--properties ${quoted(JSON.stringify(condition))}`);
  return words.join(" ");
}

/** @param {string} id @param {number} end */
export function extendCommand(id, end) {
  return `leasehold lease update ${quoted(id)} --end-date ${quoted(utc(end))}`;
}
