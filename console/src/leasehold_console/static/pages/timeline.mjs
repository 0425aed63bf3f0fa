// The timeline: what is free, when, and what is mine.

import { computed, effect, signal } from "../vendor/signals-core/signals-core.mjs";
import { busy, notice, problem } from "../components/parts.mjs";
import { html, nothing } from "../core/html.mjs";
import { adjust, go, route } from "../core/router.mjs";
import { administers, may } from "../core/session.mjs";
import { now as clock, shade, zone } from "../core/settings.mjs";
import { texts } from "../core/texts.mjs";
import { absolute } from "../core/time.mjs";
import catalogue from "../texts/en/timeline.mjs";
import { reader } from "../timeline/data.mjs";
import { closingText, draftText, endText, fareText, freeText, inTheWayText, nameOf, segmentText, sizeOf, stateOf } from "../timeline/describe.mjs";
import { maintenance } from "../hosts/maintenance.mjs";
import { latestEnd } from "../timeline/draft.mjs";
import "../timeline/element.mjs";
import { forms } from "../timeline/forms.mjs";
import { groupsOf, layoutOf } from "../timeline/layout.mjs";
import { readWish, wordsOfView } from "../timeline/query.mjs";
import { HEATED } from "../timeline/sizes.mjs";
import { isShared } from "../timeline/steps.mjs";
import { tableTwin } from "../timeline/table.mjs";
import { facetsOf, legend, toolbar } from "../timeline/toolbar.mjs";
import { leads } from "./index.mjs";

const t = texts(catalogue);
const HEIGHTS = { large: 26, small: 16, tiny: 6 };
/** How much of the window is not for rows. */
const AROUND = 190;
const PHONE = 700;
const PREFERRED = ["zone", "availability_zone", "rack"];
const CHANGES_LITTLE = 60;

/** @returns {import("../core/page.mjs").Page} */
export function open() {
  const wish = computed(() => {
    const found = readWish(route.value.query);
    return administers() ? found : { ...found, asOf: null };
  });
  /** The part of time that is shown: where the address says, or about now. */
  const view = signal(viewOf(wish.peek()));
  const asOf = computed(() => wish.value.asOf);
  const size = signal({ width: innerWidth, height: innerHeight });
  const opened = signal(/** @type {ReadonlySet<string>} */ (new Set()));
  const asTable = computed(() => (wish.value.as ?? (size.value.width < PHONE ? "table" : "picture")) === "table");
  // The table is about now, whatever the picture shows.
  const data = reader(() => ({ view: asTable.peek() ? viewOf({ from: null, span: wish.peek().span, asOf: wish.peek().asOf }) : view.peek(), type: wish.peek().type, asOf: asOf.peek() }));
  const form = forms(() => data.reload(true));
  const closing = maintenance(() => data.reload(true));
  const model = computed(() => data.state.value.model);
  const shared = computed(() => model.value !== null && model.value.ids.some((_, row) => isShared(/** @type {import("../timeline/model.mjs").Model} */ (model.value).steps, row)));
  const nowSeconds = computed(() => asOf.value ?? Math.floor(clock.value / 1000 + data.state.value.skew));
  const facets = computed(() => (model.value ? facetsOf(model.value) : []));
  const by = computed(() => {
    const said = wish.value.by;
    if (said !== null) return said === "-" ? "" : said;
    return PREFERRED.find((name) => facets.value.some((facet) => facet.name === name)) ?? "";
  });
  const groups = computed(() => (model.value ? groupsOf(model.value, { text: wish.value.text, properties: wish.value.properties }, by.value) : []));
  const count = computed(() => groups.value.reduce((sum, group) => sum + group.rows.length, 0));
  const rows = computed(() => wish.value.size ?? (count.value > 80 ? "small" : "large"));
  const rowHeight = computed(() => {
    if (rows.value !== "all") return HEIGHTS[rows.value];
    return Math.max(0.2, Math.min(HEIGHTS.large, (size.value.height - AROUND) / Math.max(1, count.value)));
  });
  const layout = computed(() => (model.value ? layoutOf(model.value, groups.value, rowHeight.value, opened.value, by.value !== "" && rowHeight.value >= HEATED) : null));

  // Groups count again when the picture, the filter or the minute changes, not for each frame.
  const says = computed(() => {
    /** @type {Map<unknown, string>} */
    const kept = new Map();
    const [read, at] = [model.value, Math.floor(nowSeconds.value / CHANGES_LITTLE) * CHANGES_LITTLE + CHANGES_LITTLE];
    return (/** @type {import("../timeline/layout.mjs").Group} */ group) => {
      let text = kept.get(group);
      if (text === undefined) kept.set(group, (text = read ? freeText(read, group.rows, at) : ""));
      return text;
    };
  });

  const onResize = () => (size.value = { width: innerWidth, height: innerHeight });
  addEventListener("resize", onResize);
  data.reload(true);
  let first = true;
  let recalled = wish.peek().asOf;
  const stopFollowing = effect(() => {
    // The address may have been changed by hand, or by a link.
    const { from, span } = wish.value;
    void asTable.value;
    void asOf.value;
    if (first) first = false;
    else if (from === null && wish.value.asOf !== recalled) view.value = viewOf(wish.value);
    else if (from !== null && (Math.abs(from - view.peek().from) >= 60 || Math.abs(span - (view.peek().to - view.peek().from)) >= 60)) view.value = viewOf(wish.value);
    recalled = wish.value.asOf;
    data.follow();
  });

  /** @param {{from: number, to: number}} wantedView */
  function show(wantedView) {
    view.value = wantedView;
    adjust(wordsOfView(wantedView));
    data.follow();
  }

  function toNow() {
    const span = view.peek().to - view.peek().from;
    view.value = viewOf({ from: null, span, asOf: asOf.peek() });
    adjust({ from: undefined });
    data.follow();
  }

  /** @param {number} row */
  function toggle(row) {
    const id = model.peek()?.ids[row] ?? "";
    const next = new Set(opened.peek());
    if (!next.delete(id)) next.add(id);
    opened.value = next;
  }

  /** @param {number} lease */
  function choose(lease) {
    const found = model.peek()?.leases[lease];
    const path = `leases/${encodeURIComponent(found?.id ?? "")}`;
    if (found?.status && found.status !== "OFFERED" && leads(path)) go(path);
  }

  /** Only hosts are leased from here. */
  const mayLease = () => may("blazar:leases:post") && wish.value.type === "physical:host" && asOf.value === null;

  const mayClose = () => may("leasehold:maintenances:post") && administers() && wish.value.type === "physical:host" && asOf.value === null;
  const makes = () => (wish.value.makes === "maintenance" && mayClose() ? "maintenance" : mayLease() ? "lease" : null);

  /** @param {import("../timeline/model.mjs").Model} read @param {import("../timeline/draft.mjs").Draft} draft */
  function make(read, draft) {
    if (makes() === "lease") form.draft(read, draft, wish.peek().properties);
    else close(read, draft.rows, { start: draft.start * 1000, end: draft.end * 1000 });
  }

  /** @param {import("../timeline/model.mjs").Model} read @param {readonly number[]} rows @param {{start: number, end: number}} [window] milliseconds */
  function close(read, rows, window) {
    const hosts = rows.map((row) => ({ id: read.ids[row] ?? "", name: nameOf(read, row) }));
    closing.begin(hosts, window, (from, to) => inTheWayText(model.peek() ?? read, rows, from / 1000, to / 1000));
  }

  /** @param {import("../timeline/model.mjs").Model} read @param {number} lease @param {number | null} end */
  function extend(read, lease, end) {
    const before = read.leases[lease]?.end;
    if (asOf.peek() !== null || before === null || before === undefined) return;
    const bound = latestEnd(read, lease);
    form.extend(read, lease, end ?? Math.min(bound.at, before + 4 * 3600), end !== null && end >= bound.at ? bound : null);
  }

  /** @param {import("../timeline/model.mjs").Model} read @param {import("../timeline/layout.mjs").Layout} shown */
  function picture(read, shown) {
    return html`<leasehold-timeline
        .state=${{
          model: read,
          layout: shown,
          view: view.value,
          now: nowSeconds.value,
          zone: zone.value,
          theme: shade.value,
          label: t("label", { rows: t("rows", { count: count.value }) }),
          makes: makes(),
          colour: wish.value.colour,
          fare: (/** @type {number} */ lease) => fareText(read, lease),
          name: (/** @type {number} */ row) => nameOf(read, row),
          remark: (/** @type {number} */ row) => stateOf(read, row) || sizeOf(read, row),
          says: says.value,
          describe: (/** @type {number} */ row, /** @type {import("../timeline/bars.mjs").Segment} */ segment) => segmentText(read, row, segment, nowSeconds.peek(), zone.peek()),
          describeDraft: (/** @type {import("../timeline/draft.mjs").Draft} */ draft) => (makes() === "lease" ? draftText(draft, zone.peek()) : closingText(read, draft, zone.peek())),
          describeEnd: (/** @type {number} */ lease, /** @type {number} */ end, /** @type {import("../timeline/draft.mjs").Stop | null} */ stop) => endText(read, lease, end, stop, zone.peek()),
          moved: show,
          drafted: (/** @type {import("../timeline/draft.mjs").Draft} */ draft) => make(read, draft),
          extended: (/** @type {number} */ lease, /** @type {number | null} */ end) => extend(read, lease, end),
          chosen: choose,
          toggled: toggle,
        }}
      ></leasehold-timeline>
      ${legend(wish.value.colour, shared.value)}`;
  }

  function content() {
    const { error, more } = data.state.value;
    const [read, shown] = [model.value, layout.value];
    if (!read || !shown) return error ? html`<div class="tl-say">${problem(error, () => data.reload(true))}</div>` : busy();
    return html`
      ${error ? html`<div class="tl-say">${problem(error, () => data.reload(true))}</div>` : nothing}
      ${more ? html`<div class="tl-say">${notice("warn", t("more_rows", { count: read.rows }))}</div>` : nothing}
      ${count.value === 0
        ? html`<div class="tl-say"><div class="empty">${read.rows ? t("no_match") : t("no_rows")}</div></div>`
        : asTable.value
          ? html`<div class="tl-table">${tableTwin({ model: read, groups: groups.value, by: by.value, now: nowSeconds.value, zone: zone.value, close: makes() === "maintenance" ? (row) => close(read, [row]) : null, lease: makes() === "lease" ? (row, start, end) => form.draft(read, { rows: [row], start, end, stop: null }, wish.peek().properties) : null, chosen: choose })}</div>`
          : picture(read, shown)}
    `;
  }

  return {
    title: () => t("title"),
    wide: true,
    keys: [
      { key: "↑ ↓ ← →", says: t("key_arrows") },
      { key: "PgUp PgDn", says: t("key_pages") },
      { key: "Home", says: t("key_home") },
      { key: "Enter", says: t("key_enter") },
      { key: "e", says: t("key_extend") },
      ...(mayClose() ? [{ key: "m", says: t("key_makes"), run: () => adjust({ makes: wish.peek().makes === "lease" ? "maintenance" : undefined }) }] : []),
      { key: "o", says: t("key_lanes") },
      { key: "+ -", says: t("key_zoom") },
      { key: "[ ]", says: t("key_pan") },
      { key: "v", says: t("key_table"), run: () => adjust({ as: asTable.peek() ? "picture" : "table" }) },
      { key: "/", says: t("key_search"), run: () => document.getElementById("timeline-search")?.focus() },
    ],
    view: () => html`
      <h1 class="unseen">${t("title")}</h1>
      ${toolbar({ wish: wish.value, view: view.value, facets: facets.value, by: by.value, size: rows.value, asTable: asTable.value, makes: mayClose() ? makes() : null, recalls: administers(), show, toNow })}
      ${asOf.value === null ? nothing : past(asOf.value, model.value)} ${content()} ${form.view()} ${closing.view()}
    `,
    close: () => {
      form.close();
      removeEventListener("resize", onResize);
      stopFollowing();
      data.close();
    },
  };
}

/** Says that it is the past, and what of it has no place in the picture. @param {number} moment seconds @param {import("../timeline/model.mjs").Model | null} read */
function past(moment, read) {
  const unplaced = read?.unplaced ?? [];
  return html`<div class="tl-say" role="status">
    <div class="notice warn">
      <strong>${t("past", { moment: absolute(moment * 1000, zone.value) })}</strong>
      <button type="button" @click=${() => adjust({ as_of: undefined })}>${t("back")}</button>
      ${unplaced.length
        ? html`<details><summary>${t("unplaced", { count: unplaced.length })}</summary>
            <ul>${unplaced.map((each) => html`<li>${t("unplaced_one", each)}</li>`)}</ul></details>`
        : nothing}
    </div>
  </div>`;
}

/** @param {{from: number | null, span: number, asOf: number | null}} wish */
function viewOf({ from, span, asOf }) {
  const start = from ?? Math.round((asOf ?? Date.now() / 1000) / 300) * 300 - Math.round(span / 14);
  return { from: start, to: start + span };
}
