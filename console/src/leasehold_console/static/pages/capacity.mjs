// How much of a resource type there is, how much is reserved, held back and free, over past and future.

import { listen } from "../api/events.mjs";
import { ApiError, call } from "../api/http.mjs";
import { stepChart } from "../capacity/chart.mjs";
import { NONE, formOf, readChoices } from "../capacity/form.mjs";
import { HOSTS, asked, foreseen, missing, questionOf, recorded } from "../capacity/question.mjs";
import { columnsOf, expectation, future, past } from "../capacity/words.mjs";
import { busy, how, problem, quoted, time } from "../components/parts.mjs";
import { table } from "../components/table.mjs";
import { html, nothing } from "../core/html.mjs";
import { loader } from "../core/loader.mjs";
import { adjust, route } from "../core/router.mjs";
import { may } from "../core/session.mjs";
import { texts } from "../core/texts.mjs";
import { DAY, iso } from "../core/time.mjs";
import catalogue from "../texts/en/capacity.mjs";

const t = texts(catalogue);
/** For how long nothing is typed before the service is asked, in milliseconds. */
const PAUSE = 350;
const FORESEE = "leasehold:forecast:get";
const PLANNED = "leasehold:capacity:get";
/** For how long a forecast is kept, in milliseconds: it takes the service long, and a lease changes little of it. */
const KEPT = 300_000;

/** @typedef {import("../capacity/words.mjs").Step} Step */
/** @typedef {import("../../../../types/api").AvailabilityAnswer} Availability */
/** @typedef {import("../capacity/question.mjs").Question} Question */
/** @typedef {import("../../../../types/api").ForecastAnswer} Forecast */
/** @typedef {import("../../../../types/api").CapacityChangeAnswer} Change */
/** @typedef {{question: Question, found: Availability, changes: Change[], forecast: Forecast | ApiError | null, steps: Step[], end: number}} Read */

/** What the address asks about. */
const question = () => questionOf(route.value.query);

/** @param {AbortSignal} signal @returns {Promise<Read | null>} null: what is counted has to be chosen first */
async function read(signal) {
  const mine = questionOf(route.peek().query);
  if (missing(mine)) return null;
  const now = Math.floor(Date.now() / 1000) * 1000;
  const end = now + mine.days * DAY;
  const before = recorded(mine);
  const ahead = may(FORESEE) ? foreseen(mine) : null;
  const [history, { availability: found }, expected, { changes }] = await Promise.all([
    before ? call("GET /v1/timeline", { query: { ...before, from: iso(now - mine.days * DAY), to: iso(now) }, signal }) : null,
    call("GET /v1/availability", { query: { ...asked(mine), to: iso(end) }, signal }),
    ahead ? forecastOf(ahead, mine.days, now, signal) : null,
    may(PLANNED) ? call("GET /v1/capacity/changes", { signal }) : { changes: [] },
  ]);
  return { question: mine, found, changes, forecast: expected, steps: [...(history ? past(history.timeline) : []), ...future(found)], end };
}

/** @type {{key: string, at: number, found: Forecast | ApiError} | undefined} */
let last;

/** @param {Record<string, string>} query @param {number} days @param {number} at @param {AbortSignal} signal */
async function forecastOf(query, days, at, signal) {
  const key = JSON.stringify([query, days]);
  if (last?.key !== key || at - last.at > KEPT) {
    const found = await foretell({ ...query, to: iso(at + days * DAY) }, signal);
    last = { key, at, found };
  }
  return last.found;
}

/**
 * Asks for a forecast. There may be too much to read for it, which concerns nothing else on the page.
 * @param {Record<string, string>} query @param {AbortSignal} signal @returns {Promise<Forecast | ApiError>}
 */
async function foretell(query, signal) {
  try {
    return (await call("GET /v1/forecast", { query, signal })).forecast;
  } catch (error) {
    if (error instanceof ApiError && error.status === 400) return error;
    throw error;
  }
}

/** @returns {import("../core/page.mjs").Page} */
export function open() {
  last = undefined;
  const list = loader(read);
  const choices = loader((signal) => readChoices(questionOf(route.peek().query).type, signal));
  const again = () => list.reload().catch(reportError);
  /** What was read, of the type that the address says. */
  const current = () => {
    const { value } = list.state.value;
    return value?.question.type === question().type ? value : null;
  };
  const chart = stepChart(
    [
      { label: t("total"), colour: "--muted" },
      { label: t("reserved"), colour: "--accent", filled: true },
      { label: t("held_back"), colour: "--bad" },
      { label: t("free"), colour: "--good" },
      ...(may(FORESEE) ? [{ label: t("expected"), colour: "--warn" }] : []),
    ],
    () => {
      const value = current();
      if (!value) return null;
      const { forecast } = value;
      const expected = forecast && !(forecast instanceof ApiError) ? expectation(forecast) : [];
      const columns = columnsOf(value.steps, value.end, expected);
      return may(FORESEE) ? columns : [columns[0], ...columns.slice(1, -1)];
    },
  );
  let timer = 0;
  /** @param {Record<string, string | undefined>} changes @param {boolean} [typed] there may be more to come */
  const choose = (changes, typed = false) => {
    adjust(changes);
    clearTimeout(timer);
    timer = setTimeout(again, typed ? PAUSE : 0);
    if ("type" in changes) choices.reload().catch(reportError);
  };
  again();
  choices.reload().catch(reportError);
  const stop = listen((events) => {
    if (!events.length || events.some((each) => each.lease_id || each.resource_id)) again();
  });
  return {
    title: () => t("title"),
    view: () => {
      const [value, { error }] = [current(), list.state.value];
      const { value: found, error: failed } = choices.state.value;
      const mine = question();
      const wanted = missing(mine);
      return html`
        <div class="page-head"><h1>${t("title")}</h1></div>
        ${formOf(mine, found?.type === mine.type ? found : { ...NONE, types: found?.types ?? NONE.types }, choose)}
        ${problem(error ?? failed, again)}
        ${wanted
          ? html`<div class="empty">${asking(wanted, found?.type === mine.type && !found.networks.length)}</div>`
          : html`<section class="card" aria-label=${t("title")}>${chart.view()} ${value ? said(value) : error ? nothing : busy()}</section>`}
      `;
    },
    close: () => {
      stop();
      clearTimeout(timer);
      list.close();
      choices.close();
      chart.close();
    },
  };
}

/** What has to be chosen before anything can be counted. @param {import("../capacity/question.mjs").Key} key @param {boolean} none whether there is no network */
function asking(key, none) {
  if (key === "network") return t(none ? "no_networks" : "ask_network");
  return t(key === "flavor" ? "ask_flavor" : "ask_size");
}

/** @param {Read} read */
function said({ question, found, changes, forecast, steps, end }) {
  const [reserved = 0, free = 0] = [found.steps.reserved[0], found.steps.free[0]];
  const query = new URLSearchParams({ ...asked(question), to: iso(end) });
  /** @param {number | null} count */
  const number = (count) => count ?? t("unknown");
  return html`
    <p><strong>${t(recorded(question) ? "now_total" : "now_room", { total: found.total, unit: found.unit, reserved, held: found.held_back, free })}</strong></p>
    <p class="muted">${t(recorded(question) ? "says" : "says_ahead")} ${t("held_says")}</p>
    ${forecast ? html`<p>${forecast instanceof ApiError ? t("expects_unread", { why: forecast.message }) : foretold(forecast)}</p>` : nothing}
    ${changes.length ? planned(changes) : nothing}
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
      command: `leasehold availability --until ${iso(end)}${wordsOf(question)}`,
      method: "GET",
      path: `/v1/availability?${query}`,
    })}
  `;
}

/** What is planned: hosts that come, go, or are held back. @param {Change[]} changes */
function planned(changes) {
  return table({
    caption: t("changes"),
    columns: [
      { title: t("from"), head: true, cell: (change) => time(Date.parse(`${change.start_date}Z`)) },
      { title: t("until"), cell: (change) => (change.end_date ? time(Date.parse(`${change.end_date}Z`)) : t("for_ever")) },
      { title: t("change"), cell: (change) => `${change.name}: ${t(`change_${kindOf(change)}`)}, ${t(`change_${stateOf(change)}`)}` },
      { title: t("hosts"), number: true, cell: (change) => change.hosts.length || change.held.length },
      { title: t("promised"), number: true, cell: (change) => change.promised.length },
    ],
    rows: changes,
    key: (change) => change.id,
  });
}

/** @param {Change} change */
const kindOf = ({ kind }) => /** @type {"increase"} */ (kind);
/** @param {Change} change */
const stateOf = ({ state }) => /** @type {"planned"} */ (state);

/** What past weeks let one expect, in a sentence. @param {Forecast} forecast */
function foretold({ unit, weeks, least_weeks: least, steps }) {
  const { expected_median: usual, expected_high: high, shortfall_high: short } = steps;
  if (!usual || !high || !short) return t("expects_nothing", { weeks, least });
  return t("expects", { weeks, unit, usual: Math.max(...usual), high: Math.max(...high), short: Math.max(...short) });
}

/** What the command says beside the time. @param {Question} question */
function wordsOf(question) {
  const { resource_properties: where, ...rest } = asked(question);
  const reservation = Object.entries(rest).map(([key, value]) => `${key}=${value}`).join(",");
  return `${question.type === HOSTS ? "" : ` --reservation ${quoted(reservation)}`}${where ? ` --properties ${quoted(where)}` : ""}`;
}
