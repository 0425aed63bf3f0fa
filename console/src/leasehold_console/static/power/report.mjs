// What sleeping hosts save and what that costs: plots by day, and the figures by day, class and zone.

import { call } from "../api/http.mjs";
import { stepChart } from "../capacity/chart.mjs";
import { busy, how, problem } from "../components/parts.mjs";
import { table } from "../components/table.mjs";
import { html, nothing } from "../core/html.mjs";
import { loader } from "../core/loader.mjs";
import { adjust, route } from "../core/router.mjs";
import { texts } from "../core/texts.mjs";
import { DAY, SECOND, iso, span } from "../core/time.mjs";
import catalogue from "../texts/en/power.mjs";
import { byDay, summed } from "./words.mjs";

const t = texts(catalogue);
const WINDOWS = /** @type {const} */ ([7, 30, 90]);

/** @typedef {import("./words.mjs").Saved} Saved */
/** @typedef {{rows: readonly Saved[], from: number, to: number}} Read */

export function savings() {
  const list = loader(async (abort) => {
    const to = Date.now();
    const from = Math.floor(to / DAY) * DAY - (windowOf() - 1) * DAY;
    const { report: rows } = await call("GET /v1/power/report", { query: { from: iso(from), to: iso(to) }, signal: abort });
    return { rows, from, to };
  });
  /** @param {(days: ReturnType<typeof byDay>) => (number | null)[][]} columns */
  const drawn = (columns) => () => {
    const { value } = list.state.value;
    if (!value?.rows.length) return null;
    const found = byDay(value.rows, value.from, value.to);
    return /** @type {import("../vendor/uplot/uPlot.mjs").AlignedData} */ ([found.days, ...columns(found)]);
  };
  const charts = /** @type {const} */ ([
    ["chart_hours", stepChart([{ label: t("hours_off"), colour: "--accent", filled: true }], drawn(({ sums }) => [sums.map((each) => each.hours_off)]), LOW)],
    ["chart_kwh", stepChart([{ label: t("kwh"), colour: "--good", filled: true }], drawn(({ sums }) => [sums.map((each) => each.kwh)]), LOW)],
    [
      "chart_wakes",
      stepChart(
        [
          { label: t("wakes"), colour: "--muted", filled: true },
          { label: t("failed_wakes"), colour: "--bad" },
          { label: t("late_starts"), colour: "--warn" },
          { label: t("delayed"), colour: "--accent" },
        ],
        drawn(({ sums }) => [sums.map((each) => each.wakes), sums.map((each) => each.failed_wakes), sums.map((each) => each.late_starts), sums.map((each) => each.delayed_requests)]),
        LOW,
      ),
    ],
  ]);
  const reload = () => list.reload();
  return {
    reload,
    close: () => {
      list.close();
      for (const [, chart] of charts) chart.close();
    },
    view: () => {
      const { value, error } = list.state.value;
      return html`<section class="card">
        <h2>${t("report")}</h2>
        ${windows(() => reload().catch(reportError))}
        ${problem(error, () => reload().catch(reportError))}
        ${value ? said(value) : error ? nothing : busy()}
        ${value?.rows.length
          ? html`<div class="charts">${charts.map(([name, chart]) => html`<figure><figcaption>${t(name)}</figcaption>${chart.view()}</figure>`)}</div>
              ${figures(value.rows)}`
          : nothing}
        ${how({ command: "leasehold power report", method: "GET", path: "/v1/power/report" })}
      </section>`;
    },
  };
}

const LOW = 180;

function windowOf() {
  const asked = Number(route.peek().query.get("days"));
  return WINDOWS.find((each) => each === asked) ?? 30;
}

/** @param {() => void} again */
function windows(again) {
  const chosen = Number(route.value.query.get("days")) || 30;
  return html`<div class="actions" role="group" aria-label=${t("window")}>
    ${WINDOWS.map((each) => html`<button
      type="button"
      aria-pressed=${each === chosen ? "true" : "false"}
      @click=${() => {
        adjust({ days: String(each) });
        again();
      }}
    >${t(`window_${each}`)}</button>`)}
  </div>`;
}

/** @param {Read} read */
function said({ rows }) {
  if (!rows.length) return html`<div class="empty">${t("report_empty")}</div>`;
  const { hours_off: hours, kwh, wakes, late_starts: late, delayed_requests: delayed } = summed(rows);
  const energy = kwh === null ? t("energy_unknown") : t("energy", { kwh: kwh.toFixed(1) });
  return html`<p><strong>${t("sums", {
    hours: hours.toFixed(1), energy, wakes: t("wakes_count", { count: wakes }), late: t("late_count", { count: late }), delayed: t("delayed_count", { count: delayed }),
  })}</strong></p>`;
}

/** @param {readonly Saved[]} rows */
function figures(rows) {
  return html`<details>
    <summary>${t("by_part")}</summary>
    ${table({
      caption: t("by_part"),
      columns: [
        { title: t("day"), head: true, whole: true, cell: (each) => each.day },
        { title: t("class"), cell: (each) => each.power_class },
        { title: t("zone"), cell: (each) => each.zone || "–", wide: true },
        { title: t("hours_off"), number: true, cell: (each) => each.hours_off.toFixed(1) },
        { title: t("kwh"), number: true, cell: (each) => each.kwh?.toFixed(2) ?? "–" },
        { title: t("wakes"), number: true, cell: (each) => each.wakes },
        { title: t("failed_wakes"), number: true, cell: (each) => each.failed_wakes, wide: true },
        { title: t("called_off"), number: true, cell: (each) => each.called_off, wide: true },
        { title: t("late_starts"), number: true, cell: (each) => each.late_starts },
        { title: t("delayed"), number: true, cell: (each) => each.delayed_requests },
        { title: t("delay"), number: true, cell: (each) => (each.delay_seconds ? span(each.delay_seconds * SECOND) : "–"), wide: true },
      ],
      rows: [...rows].reverse(),
      key: (each) => `${each.day} ${each.power_class} ${each.zone}`,
    })}
  </details>`;
}
