// The leases that start within the next hour, those that are not ready first.

import { call } from "../api/http.mjs";
import { badge, problem, time } from "../components/parts.mjs";
import { table } from "../components/table.mjs";
import { html } from "../core/html.mjs";
import { loader } from "../core/loader.mjs";
import { href } from "../core/router.mjs";
import { session } from "../core/session.mjs";
import { texts } from "../core/texts.mjs";
import { HOUR, iso } from "../core/time.mjs";
import { summary } from "../lease/words.mjs";
import catalogue from "../texts/en/operations.mjs";

const t = texts(catalogue);
const MOST = 100;

/** @typedef {import("../lease/words.mjs").Lease} Lease */

export function soon() {
  const list = loader(async (abort) => {
    const query = { status: "PENDING,IN_PROGRESS", starts_before: iso(Date.now() + HOUR), sort: "start_date", limit: MOST };
    return (await call("GET /v1/leases", { query, signal: abort })).leases;
  });
  return {
    reload: () => list.reload(),
    close: list.close,
    view: () => {
      const { value, error } = list.state.value;
      const rows = [...(value ?? [])].sort((one, other) => Number(worries(other)) - Number(worries(one)));
      return html`<section class="card">
        <h2>${t("soon")}</h2>
        ${problem(error)} ${value ? table({ caption: t("soon"), columns, rows, key: (lease) => lease.id, empty: t("soon_empty") }) : ""}
      </section>`;
    },
  };
}

/** @param {Lease} lease */
function worries(lease) {
  return Boolean(lease.at_risk || lease.degraded || lease.status === "IN_PROGRESS");
}

/** @param {Lease} lease */
function readiness(lease) {
  if (lease.degraded) return badge(t("soon_degraded"), "bad");
  if (lease.at_risk) return badge(t("soon_risk"), "warn");
  return lease.status === "IN_PROGRESS" ? badge(t("soon_waiting"), "warn") : badge(t("soon_ready"), "good");
}

/** @type {import("../components/table.mjs").Column<Lease>[]} */
const columns = [
  { title: t("lease"), head: true, cell: (lease) => html`<a href=${href(`leases/${lease.id}`)}>${lease.name || lease.id}</a>` },
  { title: t("state"), cell: readiness },
  { title: t("starts"), cell: (lease) => time(lease.start_date) },
  { title: t("what"), cell: summary, wide: true },
  { title: t("project"), cell: (lease) => session.value?.projects.find((each) => each.id === lease.project_id)?.name ?? lease.project_id, wide: true },
];
