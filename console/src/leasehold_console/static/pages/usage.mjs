// Usage in hours: what was idle, used, late, missing and given up by day, and who has the most idle hours.

import { call } from "../api/http.mjs";
import { stepChart } from "../capacity/chart.mjs";
import { busy, how, problem } from "../components/parts.mjs";
import { table } from "../components/table.mjs";
import { html, nothing } from "../core/html.mjs";
import { loader } from "../core/loader.mjs";
import { adjust, route } from "../core/router.mjs";
import { administers } from "../core/session.mjs";
import { texts } from "../core/texts.mjs";
import { DAY, SECOND, iso, span } from "../core/time.mjs";
import catalogue from "../texts/en/usage.mjs";
import { LAYERS, largest, stacked, types } from "../usage/words.mjs";

const t = texts(catalogue);
const WINDOWS = /** @type {const} */ ([7, 30, 90]);
const HOST = "physical:host";
const COLOURS = /** @type {const} */ ({ idle: "--warn", used: "--good", late: "--accent", missing: "--bad", given_up: "--muted" });

/** @typedef {import("../usage/words.mjs").Row} Row */

/** @param {AbortSignal} signal */
async function read(signal) {
  const to = Date.now();
  const from = Math.floor(to / DAY) * DAY - (windowOf() - 1) * DAY;
  const all = administers();
  const query = { from: iso(from), to: iso(to), ...(all ? { all_projects: true } : {}) };
  const [{ usage: days }, { usage: whose }] = await Promise.all([
    call("GET /v1/usage", { query: { ...query, group_by: "day" }, signal }),
    call("GET /v1/usage", { query: { ...query, group_by: all ? "project" : "user" }, signal }),
  ]);
  return { days: days.rows, whose: whose.rows, precision: days.precision_seconds, from, to, all };
}

/** @returns {import("../core/page.mjs").Page} */
export function open() {
  const list = loader(read);
  const reload = () => list.reload().catch(reportError);
  const chart = stepChart(
    [...LAYERS].reverse().map((layer) => ({ label: t(layer), colour: COLOURS[layer], filled: true })),
    () => {
      const { value } = list.state.value;
      if (!value) return null;
      const found = stacked(ofType(value.days, typeOf(value.days)), value.from, value.to);
      return /** @type {import("../vendor/uplot/uPlot.mjs").AlignedData} */ ([found.days, ...found.heights]);
    },
  );
  reload();
  return {
    title: () => t("title"),
    keys: [{ key: "r", says: t("read_again"), run: reload }],
    view: () => {
      const { value, error } = list.state.value;
      return html`<div class="page-head"><h1>${t("title")}</h1></div>
        ${choices(t("window"), WINDOWS.map((each) => ({ value: String(each), says: t(`window_${each}`) })), String(windowOf()), (days) => {
          adjust({ days });
          reload();
        })}
        ${problem(error, reload)}
        ${value ? shown(value, chart.view) : error ? nothing : busy()}`;
    },
    close: () => {
      list.close();
      chart.close();
    },
  };
}

/** @param {Awaited<ReturnType<typeof read>>} value @param {() => import("../core/html.mjs").View} chart */
function shown({ days, whose, precision, all }, chart) {
  const type = typeOf(days);
  const rows = largest(ofType(whose, type));
  if (!days.length) return html`<div class="empty">${t("empty")}</div>`;
  return html`<section class="card">
      <h2>${t("by_day")}</h2>
      ${choices(t("type"), types(days).map((each) => ({ value: each, says: each })), type, (chosen) => adjust({ type: chosen }))}
      <p class="hint muted">${precision === null ? t("unknown") : t("precision", { span: span(precision * SECOND) })}</p>
      ${chart()}
    </section>
    <section class="card">
      <h2>${t(all ? "largest_projects" : "largest_users")}</h2>
      ${figures(rows, all)}
      ${how({ command: `leasehold usage${all ? " --all-projects" : " --group-by user"}`, method: "GET", path: `/v1/usage?group_by=${all ? "project&all_projects=true" : "user"}` })}
    </section>`;
}

/** @param {readonly Row[]} rows @param {boolean} all whether they are of projects */
function figures(rows, all) {
  /** @param {"promised" | "held" | "used" | "idle" | "no_show" | "late" | "missing" | "given_up" | "lent"} name */
  const column = (name) => ({ title: t(name), number: true, cell: (/** @type {Row} */ row) => row[name]?.toFixed(1) ?? "–" });
  return table({
    caption: t(all ? "largest_projects" : "largest_users"),
    columns: [
      { title: t(all ? "project" : "user"), head: true, cell: (row) => (all ? row.project_id : row.user_id) ?? "–" },
      column("idle"),
      column("used"),
      column("held"),
      ...[column("promised"), column("no_show"), column("late"), column("missing"), column("given_up")].map((each) => ({ ...each, wide: true })),
    ],
    rows,
    key: (row) => `${row.project_id} ${row.user_id}`,
    empty: t("empty"),
  });
}

/** @param {readonly Row[]} rows @param {string} type */
function ofType(rows, type) {
  return rows.filter((row) => row.resource_type === type);
}

/** @param {readonly Row[]} rows */
function typeOf(rows) {
  const asked = route.value.query.get("type");
  const there = types(rows);
  return asked !== null && there.includes(asked) ? asked : there.includes(HOST) ? HOST : (there[0] ?? HOST);
}

function windowOf() {
  const asked = Number(route.peek().query.get("days"));
  return WINDOWS.find((each) => each === asked) ?? 30;
}

/** @param {string} label @param {readonly {value: string, says: string}[]} all @param {string} chosen @param {(value: string) => void} choose */
function choices(label, all, chosen, choose) {
  return html`<div class="actions" role="group" aria-label=${label}>
    ${all.map(({ value, says }) => html`<button type="button" aria-pressed=${value === chosen ? "true" : "false"} @click=${() => choose(value)}>${says}</button>`)}
  </div>`;
}
