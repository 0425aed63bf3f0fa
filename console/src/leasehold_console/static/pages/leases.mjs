// The leases of the project, those that need somebody first; operators see those of all projects.

import { signal } from "../vendor/signals-core/signals-core.mjs";
import { listen } from "../api/events.mjs";
import { ApiError, call } from "../api/http.mjs";
import { dialog } from "../components/dialog.mjs";
import { busy, problem, time } from "../components/parts.mjs";
import { table } from "../components/table.mjs";
import { toast } from "../components/toast.mjs";
import { html, nothing } from "../core/html.mjs";
import { loader } from "../core/loader.mjs";
import { adjust, href, route } from "../core/router.mjs";
import { administers, may, session } from "../core/session.mjs";
import { now } from "../core/settings.mjs";
import { texts } from "../core/texts.mjs";
import { DAY } from "../core/time.mjs";
import { countdown, status } from "../lease/next.mjs";
import { OPEN, summary, urgency } from "../lease/words.mjs";
import catalogue from "../texts/en/leases.mjs";

const t = texts(catalogue);
const MOST = 1000;

/** @typedef {import("../lease/words.mjs").Lease} Lease */

/** @returns {import("../core/page.mjs").Page} */
export function open() {
  const wanted = () => route.value.query.get("which") === "all";
  const list = loader(async (abort) => {
    const query = { limit: MOST, sort: "end_date", ...(wanted() ? {} : { status: OPEN }) };
    return (await call("GET /v1/leases", { query, signal: abort })).leases;
  });
  const reload = () => list.reload().catch(reportError);
  reload();
  const stop = listen((events) => {
    if (!events.length || events.some((event) => event.lease_id)) reload();
  });
  /** @type {import("../vendor/signals-core/signals-core.mjs").Signal<ReadonlySet<string>>} */
  const chosen = signal(/** @type {ReadonlySet<string>} */ (new Set()));
  const asking = signal(false);

  /** @param {string} id */
  const toggle = (id) => {
    const next = new Set(chosen.peek());
    if (!next.delete(id)) next.add(id);
    chosen.value = next;
  };

  /** Deletes one after the other; what is refused stays chosen, and the first refusal is told. */
  async function remove() {
    asking.value = false;
    const refused = new Set();
    let deleted = 0;
    for (const id of chosen.peek()) {
      try {
        await call("DELETE /v1/leases/{lease_id}", { path: { lease_id: id }, person: true });
        deleted += 1;
      } catch (error) {
        if (!(error instanceof ApiError)) throw error;
        if (!refused.size) toast(error.message, "bad");
        refused.add(id);
      }
    }
    chosen.value = refused;
    if (deleted) toast(t("deleted_many", { count: deleted }), "good");
    await list.reload();
  }

  return {
    title: () => t("title"),
    view: () => {
      const { value, error } = list.state.value;
      return html`
        <div class="page-head">
          <h1>${t("title")}</h1>
          <div class="actions">
            ${which(wanted, reload)}
            ${may("blazar:leases:post") ? html`<a class="button primary" href=${href("leases/new")}>${t("new_lease")}</a>` : nothing}
            ${chosen.value.size
              ? html`<button type="button" class="danger" @click=${() => (asking.value = true)}>
                  ${t("delete_many", { count: chosen.value.size })}
                </button>`
              : nothing}
          </div>
        </div>
        ${asking.value ? question(value ?? [], chosen.value, asking, () => remove().catch(reportError)) : nothing}
        ${problem(error, reload)} ${value ? shown(value, chosen.value, toggle) : error ? nothing : busy()}
      `;
    },
    close: () => {
      stop();
      list.close();
    },
  };
}

/**
 * Asks once more: the servers of leases in use are deleted with them.
 * @param {readonly Lease[]} leases @param {ReadonlySet<string>} chosen
 * @param {import("../vendor/signals-core/signals-core.mjs").Signal<boolean>} shown @param {() => void} remove
 */
function question(leases, chosen, shown, remove) {
  const named = leases.filter((lease) => chosen.has(lease.id));
  const inUse = named.some((lease) => lease.status !== "PENDING");
  return dialog({
    name: "delete",
    title: t("delete_many", { count: chosen.size }),
    close: () => (shown.value = false),
    submit: remove,
    body: html`<ul class="plain">${named.map((lease) => html`<li>${lease.name || lease.id} ${status(lease)}</li>`)}</ul>
      <p>${t(inUse ? "delete_active" : "delete_pending")}</p>`,
    actions: html`<button type="submit" class="danger">${t("delete")}</button>
      <button type="button" @click=${() => (shown.value = false)}>${t("cancel")}</button>`,
  });
}

/** @param {() => boolean} all @param {() => void} reload */
function which(all, reload) {
  /** @param {boolean} every */
  const choose = (every) => {
    adjust({ which: every ? "all" : undefined });
    reload();
  };
  return html`<button type="button" aria-pressed=${all() ? "false" : "true"} @click=${() => choose(false)}>${t("active_only")}</button>
    <button type="button" aria-pressed=${all() ? "true" : "false"} @click=${() => choose(true)}>${t("all")}</button>`;
}

/** @param {readonly Lease[]} leases @param {ReadonlySet<string>} chosen @param {(id: string) => void} toggle */
function shown(leases, chosen, toggle) {
  const soon = now.value;
  const rows = leases
    .map((lease) => ({ lease, weight: urgency(lease, soon, DAY) }))
    .sort((one, other) => other.weight - one.weight)
    .map(({ lease }) => lease);
  return table({
    caption: t("title"),
    columns: columnsOf(chosen, toggle),
    rows,
    key: (lease) => lease.id,
    empty: html`${t("none")} <a href=${href("timeline")}>${t("to_timeline")}</a>`,
  });
}

/** @param {ReadonlySet<string>} chosen @param {(id: string) => void} toggle */
function columnsOf(chosen, toggle) {
  /** @type {import("../components/table.mjs").Column<Lease>[]} */
  const columns = [
    {
      title: "",
      cell: (lease) => html`<input
        type="checkbox"
        aria-label=${t("choose", { name: lease.name })}
        .checked=${chosen.has(lease.id)}
        ?disabled=${lease.status === "DELETING"}
        @change=${() => toggle(lease.id)}
      />`,
    },
    { title: t("name"), head: true, cell: (lease) => html`<a href=${href(`leases/${lease.id}`)}>${lease.name || lease.id}</a>` },
    { title: t("status"), cell: status },
    { title: t("comes"), cell: countdown },
    { title: t("what"), cell: summary, wide: true },
    { title: t("from"), cell: (lease) => time(lease.start_date, { bare: true }), wide: true },
    { title: t("until"), cell: (lease) => (lease.open_ended ? "–" : time(lease.end_date, { bare: true })), wide: true },
  ];
  if (administers()) columns.push({ title: t("project"), cell: (lease) => project(lease.project_id), wide: true });
  return columns;
}

/** @param {string} id */
function project(id) {
  return session.value?.projects.find((each) => each.id === id)?.name ?? id;
}
