// What is counted is chosen from what the service has; the address keeps it.

import { call } from "../api/http.mjs";
import { selectField, textField } from "../components/field.mjs";
import { html } from "../core/html.mjs";
import { may } from "../core/session.mjs";
import { texts } from "../core/texts.mjs";
import catalogue from "../texts/en/capacity.mjs";
import { HOSTS, SPANS, keysOf, turning } from "./question.mjs";

const t = texts(catalogue);
const TYPES = /** @type {const} */ ({
  "physical:host": t("type_hosts"),
  "virtual:instance": t("type_instances"),
  "flavor:instance": t("type_flavor"),
  "virtual:floatingip": t("type_addresses"),
});
/** Values of a property that are offered; what has more tells no kinds apart. */
const MOST_VALUES = 30;

/** @typedef {import("../../../../types/api").AskableAnswer} Askable */
/** @typedef {{type: string, types: readonly string[], networks: readonly string[], properties: readonly Askable[]}} Choices */
/** @typedef {(changes: Record<string, string | undefined>, typed?: boolean) => void} Choose */
/** @type {Choices} */
export const NONE = { type: HOSTS, types: [HOSTS], networks: [], properties: [] };

/** What can be chosen for a type. @param {string} type @param {AbortSignal} signal @returns {Promise<Choices>} */
export async function readChoices(type, signal) {
  const keys = keysOf(type);
  const [types, networks, properties] = await Promise.all([
    may("leasehold:resources:get") ? readTypes(signal) : NONE.types,
    keys.includes("network") && may("blazar:floatingips:get") ? readNetworks(signal) : NONE.networks,
    keys.includes("where") ? readProperties(type, signal) : NONE.properties,
  ]);
  return { type, types, networks, properties };
}

/** @param {AbortSignal} signal */
async function readTypes(signal) {
  const { resource_types: found } = await call("GET /v1/resources", { signal });
  return found.map((each) => each.resource_type);
}

/** @param {AbortSignal} signal */
async function readNetworks(signal) {
  const { floatingips } = await call("GET /v1/floatingips", { signal });
  return [...new Set(floatingips.map((each) => each.floating_network_id))].sort();
}

/** @param {string} type @param {AbortSignal} signal */
async function readProperties(type, signal) {
  return (await call("GET /v1/availability/properties", { query: { resource_type: type }, signal })).properties;
}

/** @param {import("./question.mjs").Question} question @param {Choices} choices @param {Choose} choose */
export function formOf({ type, days, values }, choices, choose) {
  const types = [...new Set([type, ...choices.types])].sort((one, other) => Number(other in TYPES) - Number(one in TYPES) || one.localeCompare(other));
  return html`<div class="fields">
    ${selectField({
      name: "type",
      label: t("type"),
      value: type,
      options: types.map((each) => [each, nameOf(each)]),
      change: (next) => choose(turning(type, next)),
    })}
    ${keysOf(type).map((key) => key === "where" || key === "network"
      ? chosen(key, values[key] ?? "", choices, choose)
      : textField({ name: key, label: t(key), value: values[key] ?? "", type: key === "flavor" ? "text" : "number", input: (text) => choose({ [key]: text }, true) }))}
    ${selectField({ name: "days", label: t("span"), value: String(days), options: SPANS.map((each) => [each, each]), change: (next) => choose({ days: next }) })}
  </div>`;
}

/** @param {"where" | "network"} key @param {string} value @param {Choices} choices @param {Choose} choose */
function chosen(key, value, { networks, properties }, choose) {
  const found = key === "network" ? networks.map((each) => /** @type {const} */ ([each, each])) : kindsOf(properties);
  const known = !value || found.some(([each]) => each === value) ? [] : [/** @type {const} */ ([value, value])];
  const first = /** @type {const} */ (["", t(key === "network" ? "choose" : "any")]);
  return selectField({ name: key, label: t(key), value, options: [first, ...known, ...found], change: (next) => choose({ [key]: next }) });
}

/** Each property with each of its values, as a condition. @param {readonly Askable[]} properties */
function kindsOf(properties) {
  return properties
    .filter(({ values }) => values.length <= MOST_VALUES)
    .flatMap(({ property, values }) => values.map((value) => /** @type {const} */ ([JSON.stringify(["==", `$${property}`, value]), `${property} = ${value}`])));
}

/** @param {string} type */
function nameOf(type) {
  return type in TYPES ? TYPES[/** @type {keyof typeof TYPES} */ (type)] : type;
}
