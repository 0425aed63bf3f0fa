// A maintenance window for chosen hosts: asked for without touching anybody first, so that the refusal says who is there.

import { signal } from "../vendor/signals-core/signals-core.mjs";
import { ApiError, call } from "../api/http.mjs";
import { dialog } from "../components/dialog.mjs";
import { textField } from "../components/field.mjs";
import { badge, how, notice, quoted, time } from "../components/parts.mjs";
import { toast } from "../components/toast.mjs";
import { html, nothing } from "../core/html.mjs";
import { href } from "../core/router.mjs";
import { may } from "../core/session.mjs";
import { zone } from "../core/settings.mjs";
import { texts } from "../core/texts.mjs";
import { HOUR, fromLocal, iso, parse, toLocal } from "../core/time.mjs";
import catalogue from "../texts/en/hosts.mjs";

const t = texts(catalogue);
const FATES = /** @type {const} */ ({ moves: "good", started: "warn", stuck: "bad" });

/** What is needed of a host. @typedef {{id: string, name: string}} Host */
/** Says who is there in a part of time, milliseconds, as far as the page knows. @typedef {(from: number, to: number) => string} There */
/** @typedef {keyof typeof FATES} Fate */
/** @typedef {"refuse" | "move" | "warn"} OnConflict */
/** @typedef {{id: string, project_id: string, start_date: string, end_date: string, fate: Fate}} Concerned as the refusal lists it */

/** @param {() => void} again reads the hosts anew */
export function maintenance(again) {
  /** @type {import("../vendor/signals-core/signals-core.mjs").Signal<readonly Host[]>} */
  const hosts = signal(/** @type {readonly Host[]} */ ([]));
  const typed = signal({ name: "", start: "", end: "" });
  /** @type {import("../vendor/signals-core/signals-core.mjs").Signal<ApiError | null>} */
  const refused = signal(/** @type {ApiError | null} */ (null));

  /** @type {There | null} */
  let there = null;

  /** @param {readonly Host[]} those @param {{start: number, end: number}} [window] milliseconds @param {There | null} [says] */
  function begin(those, window = usual(), says = null) {
    typed.value = { name: "", start: toLocal(window.start, zone.peek()), end: toLocal(window.end, zone.peek()) };
    there = says;
    [refused.value, hosts.value] = [null, those];
  }

  /** @param {OnConflict} onConflict */
  async function plan(onConflict) {
    const body = bodyOf(hosts.peek(), typed.peek(), onConflict);
    if (!body) {
      refused.value = new ApiError(t("dates_wrong"));
      return;
    }
    refused.value = null;
    try {
      const { maintenance: made } = await call("POST /v1/maintenances", { body, person: true });
      const [moved, warned] = [made.moved.length, made.warned.length];
      toast(moved + warned ? t("planned_more", { moved, warned }) : t("planned"), "good");
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      refused.value = error;
      return;
    }
    hosts.value = [];
    again();
  }

  return {
    begin,
    /** @param {readonly Host[]} those */
    button: (those) => may("leasehold:maintenances:post") && those.length
      ? html`<button type="button" class="primary" @click=${() => begin(those)}>${t("maintenance", { count: those.length })}</button>`
      : nothing,
    view: () => hosts.value.length
      ? planDialog(hosts.value, typed, refused.value, there, (onConflict) => plan(onConflict).catch(reportError), () => (hosts.value = []))
      : nothing,
  };
}

/** Two hours from the next whole one on. */
function usual() {
  const start = Math.ceil(Date.now() / HOUR) * HOUR;
  return { start, end: start + 2 * HOUR };
}

/**
 * @param {readonly Host[]} hosts @param {{name: string, start: string, end: string}} typed @param {OnConflict} onConflict
 * @returns {import("../../../../types/api").MaintenanceCreation | null} null: the times are not complete
 */
function bodyOf(hosts, { name, start, end }, onConflict) {
  const [from, to] = [fromLocal(start, zone.peek()), fromLocal(end, zone.peek())];
  if (!(from < to)) return null;
  const ids = hosts.map((each) => each.id);
  return { name: name || hosts.map((each) => each.name).join(" ").slice(0, 60), start_date: iso(from), end_date: iso(to), hosts: ids, on_conflict: onConflict };
}

/**
 * @param {readonly Host[]} hosts @param {import("../vendor/signals-core/signals-core.mjs").Signal<{name: string, start: string, end: string}>} typed
 * @param {ApiError | null} refused @param {There | null} there @param {(onConflict: OnConflict) => void} plan @param {() => void} close
 */
function planDialog(hosts, typed, refused, there, plan, close) {
  /** @param {Partial<typeof typed.value>} change */
  const type = (change) => (typed.value = { ...typed.peek(), ...change });
  const { name, start, end } = typed.value;
  const concerned = /** @type {Concerned[]} */ (refused?.details["leases"] ?? []);
  const [way = "refuse"] = ways(concerned);
  const body = bodyOf(hosts, typed.value, way);
  return dialog({
    name: "maintenance",
    title: t("maintenance", { count: hosts.length }),
    close,
    submit: () => plan("refuse"),
    body: html`
      <p>${t("maintenance_says")}</p>
      <p class="muted anywhere">${hosts.map((each) => each.name).join(", ")}</p>
      ${refused && !concerned.length ? notice("bad", refused.message) : nothing}
      ${textField({ name: "name", label: t("name"), value: name, input: (value) => type({ name: value }) })}
      <div class="fields">
        ${textField({ name: "start_date", label: t("starts"), type: "datetime-local", value: start, input: (value) => type({ start: value }) })}
        ${textField({ name: "end_date", label: t("ends"), type: "datetime-local", value: end, input: (value) => type({ end: value }) })}
      </div>
      ${body && there && !concerned.length ? html`<p role="status">${there(parse(body.start_date), parse(body.end_date ?? ""))}</p>` : nothing}
      ${concerned.length ? conflicts(concerned, Number(refused?.details["count"])) : nothing}
      ${body ? how({ command: commandOf(hosts, body), method: "POST", path: "/v1/maintenances", body }) : nothing}
    `,
    actions: html`
      ${way === "refuse" ? nothing : html`<button type="button" class="primary" @click=${() => plan(way)}>${t(way)}</button>`}
      <button type="submit" class=${way === "refuse" ? "primary" : ""}>${t("plan")}</button>
    `,
  });
}

/** What may be asked for although leases have the hosts: a lease that cannot be moved stops both. @param {readonly Concerned[]} concerned @returns {("move" | "warn")[]} one or none */
function ways(concerned) {
  if (!concerned.length || concerned.some((each) => each.fate === "stuck")) return [];
  return concerned.some((each) => each.fate === "started") ? ["warn"] : ["move"];
}

/** @param {readonly Concerned[]} concerned @param {number} count */
function conflicts(concerned, count) {
  return html`<div class="notice warn" role="alert">
    <strong>${t("conflicts", { count })}</strong>
    <ul class="changes">
      ${concerned.map((each) => html`<li>
        <a href=${href(`leases/${each.id}`)}>${each.id.slice(0, 8)}</a> ${badge(t(`fate_${each.fate}`), FATES[each.fate])}
        <span class="muted">${each.project_id}, ${time(each.start_date, { bare: true })} – ${time(each.end_date, { bare: true })}</span>
      </li>`)}
    </ul>
  </div>`;
}

/** @param {readonly Host[]} hosts @param {import("../../../../types/api").MaintenanceCreation} body */
function commandOf(hosts, body) {
  const words = hosts.map((each) => `--host ${quoted(each.name)}`).join(" ");
  const times = `--from ${body.start_date} --until ${body.end_date ?? ""}`;
  return `leasehold maintenance create ${quoted(body.name)} ${words} ${times} --on-conflict ${body.on_conflict ?? "refuse"}`;
}
