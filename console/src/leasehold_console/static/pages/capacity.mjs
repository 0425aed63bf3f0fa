// How many hosts there are, how many are reserved, held back and free, over past and future.

import { listen } from "../api/events.mjs";
import { call } from "../api/http.mjs";
import { columnsOf, future, past } from "../capacity/words.mjs";
import { stepChart } from "../capacity/chart.mjs";
import { selectField } from "../components/field.mjs";
import { busy, how, problem, quoted, time } from "../components/parts.mjs";
import { table } from "../components/table.mjs";
import { html, nothing } from "../core/html.mjs";
import { loader } from "../core/loader.mjs";
import { adjust, route } from "../core/router.mjs";
import { texts } from "../core/texts.mjs";
import { DAY, iso } from "../core/time.mjs";
import catalogue from "../texts/en/capacity.mjs";

const t = texts(catalogue);
const SPANS = /** @type {const} */ (["7", "30", "90"]);
const KIND = "physical:host";
/** Values of a property that are offered; what has more tells no kinds apart. */
const MOST_VALUES = 30;

/** @typedef {import("../capacity/words.mjs").Step} Step */
/** @typedef {import("../../../../types/api").AvailabilityAnswer} Availability */
/** @typedef {{found: Availability, steps: Step[], end: number}} Read */

/** What the address asks for. */
function asked() {
  const { query } = route.value;
  return {
    where: query.get("where") ?? "",
    days: Number(SPANS.find((each) => each === query.get("days")) ?? SPANS[0]),
  };
}

/** @param {AbortSignal} signal @returns {Promise<Read>} */
async function read(signal) {
  const { where, days } = asked();
  const now = Math.floor(Date.now() / 1000) * 1000;
  const end = now + days * DAY;
  const those = { resource_type: KIND, ...(where ? { resource_properties: where } : {}) };
  const [{ timeline }, { availability: found }] = await Promise.all([
    call("GET /v1/timeline", { query: { ...those, from: iso(now - days * DAY), to: iso(now) }, signal }),
    call("GET /v1/availability", { query: { ...those, to: iso(end) }, signal }),
  ]);
  return { found, steps: [...past(timeline), ...future(found)], end };
}

/** @returns {import("../core/page.mjs").Page} */
export function open() {
  const list = loader(read);
  const choices = loader(async (signal) => (await call("GET /v1/availability/properties", { query: { resource_type: KIND }, signal })).properties);
  const again = () => list.reload().catch(reportError);
  const chart = stepChart(
    [
      { label: t("total"), colour: "--muted" },
      { label: t("reserved"), colour: "--accent", filled: true },
      { label: t("held_back"), colour: "--bad" },
      { label: t("free"), colour: "--good" },
    ],
    () => {
      const { value } = list.state.value;
      return value ? columnsOf(value.steps, value.end) : null;
    },
  );
  /** @param {Record<string, string | undefined>} changes */
  const choose = (changes) => {
    adjust(changes);
    again();
  };
  again();
  choices.reload().catch(reportError);
  const stop = listen((events) => {
    if (!events.length || events.some((each) => each.lease_id || each.resource_id)) again();
  });
  return {
    title: () => t("title"),
    view: () => {
      const { value, error } = list.state.value;
      return html`
        <div class="page-head"><h1>${t("title")}</h1></div>
        ${form(choices.state.value.value ?? [], choose)} ${problem(error ?? choices.state.value.error, again)}
        <section class="card" aria-label=${t("title")}>
          ${chart.view()} ${value ? said(value) : error ? nothing : busy()}
        </section>
      `;
    },
    close: () => {
      stop();
      list.close();
      choices.close();
      chart.close();
    },
  };
}

/** @param {readonly import("../../../../types/api").AskableAnswer[]} properties @param {(changes: Record<string, string | undefined>) => void} choose */
function form(properties, choose) {
  const { where, days } = asked();
  const kinds = properties
    .filter(({ values }) => values.length <= MOST_VALUES)
    .flatMap(({ property, values }) => values.map((value) => /** @type {const} */ ([JSON.stringify(["==", `$${property}`, value]), `${property} = ${value}`])));
  const known = !where || kinds.some(([condition]) => condition === where) ? [] : [/** @type {const} */ ([where, where])];
  return html`<div class="fields">
    ${selectField({ name: "where", label: t("property"), value: where, options: [["", t("any")], ...known, ...kinds], change: (value) => choose({ where: value }) })}
    ${selectField({ name: "days", label: t("span"), value: String(days), options: SPANS.map((each) => [each, each]), change: (value) => choose({ days: value }) })}
  </div>`;
}

/** @param {Read} read */
function said({ found, steps, end }) {
  const { where } = asked();
  const [reserved = 0, free = 0] = [found.steps.reserved[0], found.steps.free[0]];
  const query = new URLSearchParams({ resource_type: KIND, to: iso(end), ...(where ? { resource_properties: where } : {}) });
  /** @param {number | null} count */
  const number = (count) => count ?? t("unknown");
  return html`
    <p><strong>${t("now_total", { total: found.total, reserved, held: found.held_back, free })}</strong></p>
    <p class="muted">${t("says")} ${t("held_says")}</p>
    <details>
      <summary>${t("steps")}</summary>
      ${table({
        caption: t("title"),
        columns: [
          { title: t("from"), head: true, cell: (step) => time(step.at) },
          { title: t("total"), number: true, cell: (step) => number(step.total) },
          { title: t("reserved"), number: true, cell: (step) => step.reserved },
          { title: t("held_back"), number: true, cell: (step) => number(step.heldBack) },
          { title: t("free"), number: true, cell: (step) => number(step.free) },
        ],
        rows: steps,
        key: (step) => `${step.at} ${step.total}`,
      })}
    </details>
    ${how({
      command: `leasehold availability --until ${iso(end)}${where ? ` --properties ${quoted(where)}` : ""}`,
      method: "GET",
      path: `/v1/availability?${query}`,
    })}
  `;
}
