// One lease: how it is, what it has, what happened, and what can be done with it.

import { listen } from "../api/events.mjs";
import { ApiError, call } from "../api/http.mjs";
import { busy, how, notice, problem, quoted, time } from "../components/parts.mjs";
import { html, nothing } from "../core/html.mjs";
import { loader } from "../core/loader.mjs";
import { go } from "../core/router.mjs";
import { may } from "../core/session.mjs";
import { texts } from "../core/texts.mjs";
import { toast } from "../components/toast.mjs";
import { calendarLink } from "../lease/calendar.mjs";
import { deletion } from "../lease/deletion.mjs";
import { extension } from "../lease/extension.mjs";
import { happened } from "../lease/happened.mjs";
import { holdings } from "../lease/holdings.mjs";
import { countdown, status } from "../lease/next.mjs";
import { isOver, summary } from "../lease/words.mjs";
import catalogue from "../texts/en/leases.mjs";

const t = texts(catalogue);

/** @typedef {import("../lease/words.mjs").Lease} Lease */

/** @param {Record<string, string>} parameters @returns {import("../core/page.mjs").Page} */
export function open({ id = "" }) {
  const lease = loader(async (signal) => (await call("GET /v1/leases/{lease_id}", { path: { lease_id: id }, signal })).lease);
  const [held, past, extend, calendar] = [holdings(id), happened(id), extension(id), calendarLink()];
  const removal = deletion(id, () => lease.state.value.value, () => go("leases"));
  /** @type {readonly import("../lease/part.mjs").Part[]} */
  const parts = [held, past, extend];

  async function reload() {
    await lease.reload();
    const found = lease.state.peek().value;
    if (found) await Promise.all(parts.map((part) => part.reload?.(found)));
  }
  const again = () => reload().catch(reportError);
  again();
  const stop = listen((events) => {
    if (!events.length || events.some((event) => event.lease_id === id)) again();
  });

  return {
    title: () => lease.state.value.value?.name || t("title"),
    view: () => {
      const { value, error } = lease.state.value;
      if (error?.status === 404) return notice("warn", html`<span>${t("gone")}</span> <a href="#/leases">${t("title")}</a>`);
      if (!value) return html`${problem(error, again)} ${error ? nothing : busy()}`;
      const open = !isOver(value);
      return html`
        ${problem(error, again)} ${head(value, open ? removal.button() : nothing)} ${warnings(value, again)} ${facts(value)}
        ${open && may("blazar:leases:put") ? extend.view(value, again) : nothing} ${held.view(value, again)} ${past.view()}
        ${calendar.view()}
        ${how({ command: t("show_how", { id: quoted(value.id) }), method: "GET", path: `/v1/leases/${value.id}` })}
        ${removal.view()}
      `;
    },
    close: () => {
      stop();
      lease.close();
      for (const part of parts) part.close?.();
    },
  };
}

/** @param {Lease} lease @param {import("../core/html.mjs").View} actions */
function head(lease, actions) {
  return html`<div class="page-head">
    <h1>${lease.name || lease.id}</h1>
    ${status(lease)} <strong>${countdown(lease)}</strong>
    <div class="actions">${actions}</div>
  </div>`;
}

/** What the owner should know, the worst first. @param {Lease} lease @param {() => void} again */
function warnings(lease, again) {
  async function heal() {
    await call("POST /v1/leases/{lease_id}/heal", { path: { lease_id: lease.id }, person: true });
    toast(t("healed"), "good");
    again();
  }
  /** @param {unknown} error */
  const tell = (error) => {
    if (!(error instanceof ApiError)) throw error;
    toast(error.message, "bad");
  };
  return html`
    ${lease.status_reason ? notice(lease.status === "ERROR" || lease.status === "TIMEDOUT" ? "bad" : "info", lease.status_reason) : nothing}
    ${lacks(lease)
      ? notice("warn", html`<span>${t(lease.at_risk ? "at_risk" : "degraded")}</span>
          ${isOver(lease) ? nothing : html`<button type="button" class="quiet" @click=${() => heal().catch(tell)}>${t("heal")}</button>`}`)
      : nothing}
  `;
}

/** Whether something that the lease is to have is not there; what was replaced is no reason to act. @param {Lease} lease */
function lacks(lease) {
  return lease.at_risk || lease.reservations.some((each) => each.missing_resources);
}

/** @param {import("../../../../types/api").CostAnswer} found */
function cost({ total, passed, unit }) {
  return total === null ? t("cost_passed", { passed, unit }) : t("cost_total", { total, passed, unit });
}

/** @param {Lease} lease */
function facts(lease) {
  /** @type {[string, import("../core/html.mjs").View][]} */
  const rows = [
    [t("what"), summary(lease)],
    [t("from"), time(lease.start_date)],
    [t("until"), lease.open_ended ? "–" : time(lease.end_date)],
    [t("kind"), lease.type ?? "scheduled"],
    ...(lease.purpose ? /** @type {[string, string][]} */ ([[t("purpose"), lease.purpose]]) : []),
    ...(lease.cost ? /** @type {[string, string][]} */ ([[t("cost"), cost(lease.cost)]]) : []),
    [t("project"), lease.project_id],
    [t("id"), html`<code>${lease.id}</code>`],
  ];
  return html`<dl class="facts card">${rows.map(([name, value]) => html`<div><dt>${name}</dt><dd>${value}</dd></div>`)}</dl>`;
}
