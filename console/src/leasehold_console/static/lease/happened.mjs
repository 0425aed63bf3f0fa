// What happened to a lease, and all that has changed in it.

import { call } from "../api/http.mjs";
import { problem, time } from "../components/parts.mjs";
import { table } from "../components/table.mjs";
import { html, nothing } from "../core/html.mjs";
import { loader } from "../core/loader.mjs";
import { texts } from "../core/texts.mjs";
import catalogue from "../texts/en/leases.mjs";

const t = texts(catalogue);
const LONGEST = 80;
const MOST = 6;

/** @typedef {import("../../../../types/api").ChangeAnswer} Change */

/** @param {string} id of the lease */
export function happened(id) {
  const list = loader(async (abort) => (await call("GET /v1/leases/{lease_id}/history", { path: { lease_id: id }, signal: abort })).changes);
  return {
    reload: () => list.reload(),
    close: list.close,
    view: () => {
      const { value, error } = list.state.value;
      // What the service has noted for itself alone is nothing to people.
      const rows = (value ?? []).filter((each) => each.type || each.changes.length).reverse();
      return html`<section class="card">
        <h2>${t("happened")}</h2>
        ${problem(error)}
        ${table({ caption: t("happened"), columns, rows, key: (each) => each.id, empty: t("history_empty") })}
      </section>`;
    },
  };
}

/** @type {import("../components/table.mjs").Column<Change>[]} */
const columns = [
  { title: t("when"), cell: (change) => time(change.time) },
  { title: t("event"), head: true, cell: (change) => said(change.type ?? "lease.update") },
  { title: t("changes"), cell: changes },
  { title: t("who"), cell: (change) => change.user_id ?? t("service"), wide: true },
];

/** All that a change has changed; what is long, as a creation is, opens on request. @param {Change} change */
function changes({ changes: all }) {
  const list = html`<ul class="changes">${all.map(difference)}</ul>`;
  return all.length <= MOST ? list : html`<details><summary>${t("many_changes", { count: all.length })}</summary>${list}</details>`;
}

/** "start lease" of "lease.event.start_lease". @param {string} type */
function said(type) {
  return type.replace(/^lease\.(event\.)?/, "").replaceAll("_", " ");
}

/** @param {import("../../../../types/api").DifferenceAnswer} difference */
function difference({ part, key, before, after }) {
  const name = part === "lease" ? key : `${part} ${key}`;
  return html`<li><span class="muted">${name}</span> ${before === null || before === undefined ? nothing : html`<s>${short(before)}</s> →`} ${short(after)}</li>`;
}

/** @param {unknown} value */
function short(value) {
  const text = typeof value === "string" ? value : JSON.stringify(value ?? null);
  return text.length > LONGEST ? `${text.slice(0, LONGEST)}…` : text;
}
