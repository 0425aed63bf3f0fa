// All hosts: how each is, what holds it now and next, and what operators do with one or several.

import { signal } from "../vendor/signals-core/signals-core.mjs";
import { listen } from "../api/events.mjs";
import { call } from "../api/http.mjs";
import { textField } from "../components/field.mjs";
import { badge, busy, problem, time } from "../components/parts.mjs";
import { table } from "../components/table.mjs";
import { html, nothing } from "../core/html.mjs";
import { loader } from "../core/loader.mjs";
import { adjust, href, route } from "../core/router.mjs";
import { may } from "../core/session.mjs";
import { now } from "../core/settings.mjs";
import { texts } from "../core/texts.mjs";
import { changing } from "../hosts/change.mjs";
import { enrolment } from "../hosts/enrolment.mjs";
import { maintenance } from "../hosts/maintenance.mjs";
import { properties } from "../hosts/properties.mjs";
import { heldBy, matches, propertiesOf, stateOf, zoneOf } from "../hosts/words.mjs";
import catalogue from "../texts/en/hosts.mjs";

const t = texts(catalogue);
const KINDS = /** @type {const} */ ({ healthy: "good", down: "warn", failed: "bad", asleep: "plain", out_there: "warn", disabled: "warn" });

/** @typedef {import("../hosts/words.mjs").Host} Host */
/** @typedef {import("../hosts/words.mjs").Allocation} Allocation */
/** @typedef {{hosts: Host[], allocations: Map<string, Allocation>}} Read */

/** @param {AbortSignal} abort @returns {Promise<Read>} */
async function read(abort) {
  const [{ resources: hosts }, { allocations }] = await Promise.all([
    call("GET /v1/resources/{resource_type}", { path: { resource_type: "physical:host" }, signal: abort }),
    may("blazar:oshosts:get_allocations") ? call("GET /v1/os-hosts/allocations", { signal: abort }) : { allocations: [] },
  ]);
  hosts.sort((one, other) => one.name.localeCompare(other.name, "en", { numeric: true }));
  return { hosts, allocations: new Map(allocations.map((each) => [each.resource_id, each])) };
}

/** @returns {import("../core/page.mjs").Page} */
export function open() {
  const list = loader(read);
  const again = () => list.reload().catch(reportError);
  again();
  const stop = listen((events) => {
    if (!events.length || events.some((each) => each.lease_id || each.resource_id)) again();
  });
  /** @type {import("../vendor/signals-core/signals-core.mjs").Signal<ReadonlySet<string>>} */
  const chosen = signal(/** @type {ReadonlySet<string>} */ (new Set()));
  const [change, edit, enrol, window] = [changing(again), properties(again), enrolment(again), maintenance(again)];
  /** @param {Host} host */
  const buttons = (host) => html`${change.button(host)} ${edit.button(host)}`;
  const wanted = () => route.value.query.get("q") ?? "";

  return {
    title: () => t("title"),
    keys: [{ key: "/", says: t("filter"), run: () => document.getElementById("field-q")?.focus() }],
    view: () => {
      const { value, error } = list.state.value;
      const rows = value?.hosts.filter((each) => matches(each, wanted())) ?? [];
      const those = value?.hosts.filter((each) => chosen.value.has(each.id)) ?? [];
      return html`
        <div class="page-head">
          <h1>${t("title")}</h1>
          <div class="actions">${enrol.button()} ${window.button(those)}</div>
        </div>
        ${textField({ name: "q", label: t("filter"), hint: t("filter_hint"), type: "search", value: wanted(), input: (text) => adjust({ q: text }) })}
        ${problem(error, again)} ${value ? shown(value, rows, chosen, buttons) : error ? nothing : busy()} ${change.view()} ${edit.view()}
        ${enrol.view()} ${window.view()}
      `;
    },
    close: () => {
      stop();
      list.close();
      enrol.close();
    },
  };
}

/**
 * @param {Read} all @param {readonly Host[]} rows @param {import("../vendor/signals-core/signals-core.mjs").Signal<ReadonlySet<string>>} chosen
 * @param {(host: Host) => import("../core/html.mjs").View} button
 */
function shown(all, rows, chosen, button) {
  const every = rows.length > 0 && rows.every((each) => chosen.value.has(each.id));
  return html`
    <p class="muted">
      <label><input type="checkbox" .checked=${every} @change=${() => (chosen.value = new Set(every ? [] : rows.map((each) => each.id)))} /> ${t("choose_shown")}</label>
      · ${t("shown", { shown: rows.length, all: all.hosts.length })}
    </p>
    ${table({
      caption: t("title"),
      columns: columns(all.allocations, chosen, button),
      rows,
      key: (host) => host.id,
      empty: all.hosts.length ? t("empty") : t("none"),
    })}
  `;
}

/**
 * @param {ReadonlyMap<string, Allocation>} allocations @param {import("../vendor/signals-core/signals-core.mjs").Signal<ReadonlySet<string>>} chosen
 * @param {(host: Host) => import("../core/html.mjs").View} button
 * @returns {import("../components/table.mjs").Column<Host>[]}
 */
function columns(allocations, chosen, button) {
  /** @param {Host} host */
  const toggle = (host) => {
    const next = new Set(chosen.peek());
    if (!next.delete(host.id)) next.add(host.id);
    chosen.value = next;
  };
  return [
    {
      title: "",
      cell: (host) => html`<input
        type="checkbox"
        aria-label=${t("choose", { name: host.name })}
        .checked=${chosen.value.has(host.id)}
        @change=${() => toggle(host)}
      />`,
    },
    { title: t("host"), head: true, cell: (host) => host.name },
    {
      title: t("state"),
      cell: (host) => html`${badge(t(stateOf(host)), KINDS[stateOf(host)])} ${host.disabled_reason ? html`<div class="muted">${host.disabled_reason}</div>` : nothing}`,
    },
    { title: t("pool"), cell: pool, wide: true },
    { title: t("zone"), cell: zoneOf, wide: true, whole: true },
    { title: t("holds_now"), cell: (host) => current(allocations.get(host.id)) },
    { title: t("holds_next"), cell: (host) => next(allocations.get(host.id)), wide: true },
    { title: t("properties"), cell: (host) => propertiesOf(host).join(", "), wide: true },
    { title: "", cell: button },
  ];
}

/** @param {Host} host */
function pool(host) {
  const key = /** @type {keyof typeof catalogue} */ (`pool_${host.pool}`);
  return html`${key in catalogue ? t(key) : host.pool} ${host.pool_reason ? html`<div class="muted">${host.pool_reason}</div>` : nothing}`;
}

/** @param {Allocation | undefined} allocation */
function current(allocation) {
  const { now: held } = heldBy(allocation, now.value);
  return held ? html`<a href=${href(`leases/${held.lease_id}`)}>${held.lease_id.slice(0, 8)}</a> <span class="muted">${t("until")} ${time(held.end_date, { bare: true })}</span>` : t("free");
}

/** @param {Allocation | undefined} allocation */
function next(allocation) {
  const { next: held } = heldBy(allocation, now.value);
  return held ? html`<a href=${href(`leases/${held.lease_id}`)}>${held.lease_id.slice(0, 8)}</a> <span class="muted">${t("from")} ${time(held.start_date, { bare: true })}</span>` : "–";
}
