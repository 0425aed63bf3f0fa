// Where the console begins: what needs this person first, what comes next, and what is free for each kind of host.

import { signal } from "../vendor/signals-core/signals-core.mjs";
import { listen } from "../api/events.mjs";
import { call } from "../api/http.mjs";
import { selectField } from "../components/field.mjs";
import { busy, problem } from "../components/parts.mjs";
import { html, nothing } from "../core/html.mjs";
import { loader } from "../core/loader.mjs";
import { href } from "../core/router.mjs";
import { session } from "../core/session.mjs";
import { now } from "../core/settings.mjs";
import { texts } from "../core/texts.mjs";
import { DAY, iso, parse, relative } from "../core/time.mjs";
import { countdown, status } from "../lease/next.mjs";
import { OPEN, summary, urgency } from "../lease/words.mjs";
import { nextFree, outline, stepsOf } from "../start/free.mjs";
import catalogue from "../texts/en/start.mjs";

const t = texts(catalogue);
const AHEAD = 14 * DAY;
const PAUSE = 30_000;
const MOST_KINDS = 8;
const MOST_NEXT = 3;
const STRIP = { width: 560, height: 26 };

/** @typedef {import("../lease/words.mjs").Lease} Lease */
/** @typedef {{name: string, where: Record<string, string[]>, total: number, steps: import("../start/free.mjs").Step[]}} FreeOf */

/** @returns {import("../core/page.mjs").Page} */
export function open() {
  const leases = loader(async (abort) => {
    const found = (await call("GET /v1/leases", { query: { limit: 1000, sort: "start_date", status: OPEN }, signal: abort })).leases;
    return found.filter((lease) => lease.project_id === session.peek()?.project.id);
  });
  const by = signal("");
  const choices = loader(async (abort) => (await call("GET /v1/availability/properties", { signal: abort })).properties);
  const free = loader(async (abort) => {
    const values = choices.state.peek().value?.find((each) => each.property === by.peek())?.values ?? [];
    const kinds = values.slice(0, MOST_KINDS).map((value) => ({ name: value, where: { [by.peek()]: [value] } }));
    return Promise.all([{ name: t("free_all"), where: {} }, ...kinds].map((kind) => freeOf(kind, abort)));
  });
  let counted = 0;
  const reload = () => {
    leases.reload().catch(reportError);
    // The strips ask once for each kind of host, so not at each event of a busy cloud.
    if (Date.now() - counted < PAUSE) return;
    counted = Date.now();
    free.reload().catch(reportError);
  };
  choices.reload().catch(reportError);
  reload();
  const stop = listen(reload);

  return {
    title: () => t("title"),
    view: () => html`
      <div class="page-head"><h1>${t("title")}</h1></div>
      ${problem(leases.state.value.error, reload)} ${mine(leases.state.value.value)}
      <section class="card">
        <h2>${t("free")}</h2>
        ${selectField({
          ...{ name: "by", label: t("by"), value: by.value },
          options: [["", "–"], ...(choices.state.value.value ?? []).filter(tells).map(({ property }) => /** @type {const} */ ([property, property]))],
          change: (property) => {
            by.value = property;
            free.reload().catch(reportError);
          },
        })}
        ${problem(free.state.value.error)} ${free.state.value.value?.map(strip) ?? busy()}
      </section>
    `,
    close: () => {
      stop();
      for (const each of [leases, choices, free]) each.close();
    },
  };
}

/** Whether a property names a few kinds of hosts. @param {import("../../../../types/api").AskableAnswer} askable */
function tells({ values }) {
  return values.length > 1 && values.length <= MOST_KINDS && !values.some((value) => value.startsWith("{"));
}

/**
 * @param {{name: string, where: Record<string, string[]>}} kind @param {AbortSignal} abort
 * @returns {Promise<FreeOf>}
 */
async function freeOf(kind, abort) {
  const [[property, [value] = []] = []] = Object.entries(kind.where);
  const start = Date.now();
  const query = {
    ...{ resource_type: "physical:host", from: iso(start), to: iso(start + AHEAD) },
    ...(property ? { resource_properties: JSON.stringify(["==", `$${property}`, value]) } : {}),
  };
  const { availability } = await call("GET /v1/availability", { query, signal: abort });
  return { ...kind, total: availability.total, steps: stepsOf(availability.steps) };
}

/** @param {readonly Lease[] | undefined} leases */
function mine(leases) {
  if (!leases) return busy();
  const at = now.value;
  const weighed = leases.map((lease) => ({ lease, weight: urgency(lease, at, DAY) })).filter(({ weight }) => weight > 0);
  const urgent = weighed.sort((one, other) => other.weight - one.weight).map(({ lease }) => lease);
  const coming = leases.filter((lease) => parse(lease.start_date) > at).slice(0, MOST_NEXT);
  return html`<div class="two">
    ${cards(t("needs"), urgent, t("needs_none"))} ${cards(t("coming"), coming, t("coming_none"))}
  </div>`;
}

/** @param {string} title @param {readonly Lease[]} leases @param {string} none */
function cards(title, leases, none) {
  return html`<section class="card">
    <h2>${title}</h2>
    ${leases.length
      ? html`<ul class="plain">
          ${leases.map((lease) => html`<li>
            <a href=${href(`leases/${lease.id}`)}>${lease.name || lease.id}</a> ${status(lease)} ${countdown(lease)}
            <span class="muted">${lease.status_reason || summary(lease)}</span>
          </li>`)}
        </ul>`
      : html`<p class="muted">${none}</p>`}
  </section>`;
}

/** @param {FreeOf} kind */
function strip({ name, where, total, steps }) {
  const start = steps[0]?.at ?? Date.now();
  const free = steps[0]?.free ?? 0;
  const next = nextFree(steps);
  const when = free ? t("free_now", { free, total }) : next === null ? t("free_never") : t("free_next", { when: relative(next, now.value) });
  const query = { where: JSON.stringify(where), ...(free || next === null ? {} : { from: iso(next) }) };
  return html`<div class="strip">
    <strong>${name}</strong>
    <svg viewBox="0 0 ${STRIP.width} ${STRIP.height}" preserveAspectRatio="none" role="img" aria-label=${t("strip", { name })}>
      <path d=${outline(steps, { start, end: start + AHEAD, total, ...STRIP })} />
    </svg>
    <span>${when}</span>
    ${next === null ? nothing : html`<a href=${href("leases/new", query)} aria-label="${t("lease")}: ${name}">${t("lease")}</a>`}
  </div>`;
}
