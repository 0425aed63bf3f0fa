// A series of leases: the verdict on each occurrence, with the window in which one that was refused would fit.

import { badge, time } from "../components/parts.mjs";
import { table } from "../components/table.mjs";
import { html, nothing } from "../core/html.mjs";
import { href } from "../core/router.mjs";
import { texts } from "../core/texts.mjs";
import { iso } from "../core/time.mjs";
import catalogue from "../texts/en/newlease.mjs";
import { counterOffers } from "./form.mjs";

const t = texts(catalogue);

/** @typedef {import("../../../../types/api").OccurrenceAnswer} Occurrence */

/** @param {import("../../../../types/api").SeriesAnswer} series */
export function occurrencesView(series) {
  /** @type {import("../components/table.mjs").Column<Occurrence>[]} */
  const columns = [
    { title: t("occurrence"), head: true, cell: (each) => time(each.start_date) },
    { title: t("verdict"), cell: (each) => verdictOf(series, each) },
  ];
  return html`<section class="card">
    <h2>${t("occurrences")}</h2>
    ${table({ caption: t("occurrences"), columns, rows: series.occurrences, key: (each) => each.lease_id ?? each.start_date })}
  </section>`;
}

/** @param {import("../../../../types/api").SeriesAnswer} series @param {Occurrence} occurrence */
function verdictOf(series, { lease_id: id, refused }) {
  if (id) return html`<a href=${href(`leases/${id}`)}>${badge(t("occurrence_granted"), "good")}</a>`;
  if (!refused) return nothing;
  const window = counterOffers(refused.details).find((each) => each.kind === "window");
  const instead = window && href("leases/new", { name: series.name, from: iso(window.start ?? 0), until: iso(window.end ?? 0) });
  return html`${refused.error_message} ${instead ? html`<a href=${instead}>${time(window?.start, { bare: true })}</a>` : nothing}`;
}
