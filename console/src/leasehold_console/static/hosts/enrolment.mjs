// Hosts of the cloud that are not enrolled yet are picked from a list, and enrolled for a pool.

import { signal } from "../vendor/signals-core/signals-core.mjs";
import { ApiError, call } from "../api/http.mjs";
import { dialog } from "../components/dialog.mjs";
import { selectField, textField } from "../components/field.mjs";
import { busy, how, notice, problem, quoted } from "../components/parts.mjs";
import { toast } from "../components/toast.mjs";
import { html, nothing } from "../core/html.mjs";
import { loader } from "../core/loader.mjs";
import { may } from "../core/session.mjs";
import { texts } from "../core/texts.mjs";
import catalogue from "../texts/en/hosts.mjs";
import { barrier, picked, sizeOf } from "./candidates.mjs";

const t = texts(catalogue);

/** @typedef {import("./candidates.mjs").Candidate} Candidate */
/** @typedef {import("./candidates.mjs").Pool} Pool */

/** @param {() => void} again reads the hosts anew */
export function enrolment(again) {
  const list = loader(async (abort) => (await call("GET /v1/resources/{resource_type}/candidates", { path: { resource_type: "physical:host" }, signal: abort })).candidates);
  const shown = signal(false);
  const wanted = signal("");
  const pool = signal(/** @type {Pool} */ ("reservation"));
  const chosen = signal(/** @type {ReadonlySet<string>} */ (new Set()));
  /** Why hosts were refused, by name. */
  const refused = signal(/** @type {ReadonlyMap<string, string>} */ (new Map()));
  const reload = () => list.reload().catch(reportError);

  function begin() {
    [shown.value, wanted.value, chosen.value, refused.value] = [true, "", new Set(), new Map()];
    reload();
  }

  /** @param {string} name */
  function toggle(name) {
    const next = new Set(chosen.peek());
    if (!next.delete(name)) next.add(name);
    chosen.value = next;
  }

  /** @param {readonly Candidate[]} those one after the other: each moves a host in the cloud */
  async function enrol(those) {
    const failed = new Map();
    for (const { name } of those) {
      try {
        await call("POST /v1/os-hosts", { body: { name, pool: pool.peek() }, person: true });
      } catch (error) {
        if (!(error instanceof ApiError)) throw error;
        failed.set(name, error.message);
      }
    }
    const count = those.length - failed.size;
    if (count) toast(t("enrolled", { count }), "good");
    [refused.value, chosen.value] = [failed, new Set(failed.keys())];
    again();
    if (failed.size) reload();
    else shown.value = false;
  }

  return {
    button: () => may("blazar:oshosts:post") && may("leasehold:resources:get_candidates")
      ? html`<button type="button" @click=${begin}>${t("enrol")}</button>`
      : nothing,
    close: () => list.close(),
    view: () => {
      if (!shown.value) return nothing;
      const { value, error } = list.state.value;
      const those = picked(value ?? [], chosen.value, pool.value);
      return dialog({
        name: "enrol",
        title: t("enrol"),
        close: () => (shown.value = false),
        submit: () => enrol(those).catch(reportError),
        body: html`
          <p class="muted">${t("enrol_says")}</p>
          ${problem(error, reload)} ${[...refused.value].map(([name, reason]) => notice("bad", `${name}: ${reason}`))}
          ${selectField({
            name: "pool",
            label: t("enrol_pool"),
            value: pool.value,
            change: (next) => (pool.value = /** @type {Pool} */ (next)),
            options: [["reservation", t("pool_reservation")], ["shared", t("pool_shared")]],
          })}
          ${value?.length ? textField({ name: "wanted", label: t("filter"), type: "search", value: wanted.value, input: (text) => (wanted.value = text) }) : nothing}
          ${value ? listed(value, wanted.value, pool.value, chosen.value, toggle) : error ? nothing : busy()} ${those.length ? script(those, pool.value) : nothing}
        `,
        actions: html`<button type="submit" class="primary" ?disabled=${!those.length}>${t("enrol_count", { count: those.length })}</button>`,
      });
    },
  };
}

/**
 * @param {readonly Candidate[]} candidates @param {string} wanted a part of the name @param {Pool} pool
 * @param {ReadonlySet<string>} chosen @param {(name: string) => void} toggle
 */
function listed(candidates, wanted, pool, chosen, toggle) {
  if (!candidates.length) return html`<div class="empty">${t("all_enrolled")}</div>`;
  const rows = candidates.filter((each) => each.name.toLowerCase().includes(wanted.toLowerCase()));
  return html`<ul class="picks" tabindex="0" aria-label=${t("enrol")}>
    ${rows.map((each) => {
      const why = barrier(each, pool);
      return html`<li>
        <label>
          <input type="checkbox" ?disabled=${Boolean(why)} .checked=${chosen.has(each.name) && !why} @change=${() => toggle(each.name)} />
          <span class="anywhere">${each.name}</span> <span class="muted">${sizeOf(each)}</span>
        </label>
        ${why ? html`<p class="hint">${why}</p>` : nothing}
      </li>`;
    })}
    ${rows.length ? nothing : html`<li class="muted">${t("empty")}</li>`}
  </ul>`;
}

/** A command for each host, and the call for the first. @param {readonly Candidate[]} those @param {Pool} pool */
function script(those, pool) {
  return how({
    command: those.map(({ name }) => `leasehold host create ${quoted(name)} --pool ${pool}`).join("\n"),
    method: "POST",
    path: "/v1/os-hosts",
    body: { name: those[0]?.name, pool },
  });
}
