// The picture as a table: for screen readers, for phones, and for who likes tables.

import { badge } from "../components/parts.mjs";
import { table } from "../components/table.mjs";
import { html, nothing } from "../core/html.mjs";
import { texts } from "../core/texts.mjs";
import * as time from "../core/time.mjs";
import catalogue from "../texts/en/timeline.mjs";
import { nameOf, nowOf, stateOf, whatOf } from "./describe.mjs";
import { canClose } from "./maintenance.mjs";
import { propertyOf } from "./model.mjs";
import { isShared } from "./steps.mjs";

/** @typedef {import("./model.mjs").Model} Model */
const t = texts(catalogue);

/** The leases of the caller on each row, from now on. @param {Model} model @param {number} now @returns {Map<number, number[]>} */
export function ownLeases(model, now) {
  /** @type {Map<number, number[]>} */
  const found = new Map();
  let row = 0;
  for (let bar = 0; bar < model.leaseOf.length; bar += 1) {
    while (bar >= (model.bars.first[row + 1] ?? Infinity)) row += 1;
    const lease = /** @type {number} */ (model.leaseOf[bar]);
    const own = lease >= 0 && model.leases[lease]?.whose !== "other" && model.kinds[bar] === "lease";
    if (!own || (model.bars.end[bar] ?? 0) <= now) continue;
    const list = found.get(row) ?? [];
    if (!list.includes(lease)) list.push(lease);
    found.set(row, list);
  }
  return found;
}

/**
 * @param {object} options
 * @param {Model} options.model
 * @param {readonly import("./layout.mjs").Group[]} options.groups
 * @param {string} options.by
 * @param {number} options.now
 * @param {string} options.zone
 * @param {((row: number, start: number, end: number) => void) | null} options.lease drafts one; null: the caller may not
 * @param {((row: number) => void) | null} options.close drafts a maintenance window; null: leases are made
 * @param {(lease: number) => void} options.chosen
 */
export function tableTwin({ model, groups, by, now, zone, lease, close, chosen }) {
  const own = ownLeases(model, now);
  const rows = groups.flatMap((group) => [...group.rows]);
  /** @type {import("../components/table.mjs").Column<number>[]} */
  const columns = [
    { title: t("column_name"), head: true, cell: (row) => nameOf(model, row) },
    ...(by ? [{ title: by, wide: true, cell: (/** @type {number} */ row) => propertyOf(model, by, row) || "–" }] : []),
    { title: t("column_now"), cell: (row) => nowCell(model, row, now) },
    { title: t("column_free"), cell: (row) => freeCell(model, row, now, zone) },
    {
      title: t("column_mine"),
      line: true,
      cell: (row) => (own.get(row) ?? []).map((each) => html`<div><button type="button" class="quiet link" @click=${() => chosen(each)}>${model.leases[each]?.name}</button>
        <span class="muted">${until(model, each, zone)}</span></div>`),
    },
    ...(close ? [{ title: "", cell: (/** @type {number} */ row) => closeCell(model, row, close) }] : []),
    ...(lease ? [{ title: "", cell: (/** @type {number} */ row) => leaseCell(model, row, now, lease) }] : []),
  ];
  return table({ caption: t("title"), columns, rows, key: (row) => model.ids[row] ?? row });
}

/** @param {Model} model @param {number} lease @param {string} zone */
function until(model, lease, zone) {
  const found = model.leases[lease];
  if (!found?.start) return "";
  return `${time.brief(found.start * 1000, zone)} – ${found.end === null ? "" : time.brief(found.end * 1000, zone)}`;
}

/** @param {Model} model @param {number} row @param {number} now */
function nowCell(model, row, now) {
  const state = stateOf(model, row);
  if (state) return badge(state, model.closed[row] === 1 ? "bad" : "warn");
  const { bar, free } = nowOf(model, row, now);
  if (free) return badge(t("legend_free"), "good");
  if (bar < 0) return badge(t("kind_emptying"));
  if (isShared(model.steps, row)) return badge(t("say_share", { share: Math.round(shareAt(model, row, now) * 100) }));
  const own = model.leases[/** @type {number} */ (model.leaseOf[bar])]?.whose === "mine";
  return badge(whatOf(model, bar), own ? "mine" : "plain");
}

/** @param {Model} model @param {number} row @param {number} now */
function shareAt({ steps }, row, now) {
  let share = 0;
  for (let at = /** @type {number} */ (steps.first[row]); at < /** @type {number} */ (steps.first[row + 1]) && /** @type {number} */ (steps.time[at]) <= now; at += 1) {
    share = /** @type {number} */ (steps.share[at]);
  }
  return share;
}

/** @param {Model} model @param {number} row @param {number} now @param {string} zone */
function freeCell(model, row, now, zone) {
  if (model.closed[row]) return "–";
  const { next } = nowOf(model, row, now);
  if (next.start >= model.to) return "–";
  const length = next.end >= model.to ? t("free_open") : t("free_for", { span: time.span((next.end - next.start) * 1000) });
  const start = next.start > now ? html`<span>${t("free_in", { when: time.brief(next.start * 1000, zone) })}</span> ` : nothing;
  return html`${start}<span class=${next.start > now ? "muted" : ""}>${length}</span>`;
}

/** @param {Model} model @param {number} row @param {(row: number) => void} close */
function closeCell(model, row, close) {
  if (!canClose(model, row)) return nothing;
  return html`<button type="button" class="quiet" aria-label=${t("close_it_label", { name: nameOf(model, row) })} @click=${() => close(row)}>${t("close_it")}</button>`;
}

/** @param {Model} model @param {number} row @param {number} now @param {(row: number, start: number, end: number) => void} lease */
function leaseCell(model, row, now, lease) {
  if (model.closed[row] || isShared(model.steps, row)) return nothing;
  const { next } = nowOf(model, row, now);
  if (next.start >= model.to) return nothing;
  const start = Math.ceil((next.start + 60) / 60) * 60;
  return html`<button
    type="button"
    class="quiet"
    aria-label=${t("lease_it_label", { name: nameOf(model, row) })}
    @click=${() => lease(row, start, Math.min(next.end, start + 4 * 3600))}
  >${t("lease_it")}</button>`;
}
