// What can be done with one host: disable or enable it, move it to the other pool, remove it.

import { signal } from "../vendor/signals-core/signals-core.mjs";
import { ApiError, request } from "../api/http.mjs";
import { dialog } from "../components/dialog.mjs";
import { textField } from "../components/field.mjs";
import { how, notice, quoted } from "../components/parts.mjs";
import { toast } from "../components/toast.mjs";
import { html, nothing } from "../core/html.mjs";
import { may } from "../core/session.mjs";
import { texts } from "../core/texts.mjs";
import catalogue from "../texts/en/hosts.mjs";

const t = texts(catalogue);

/** @typedef {import("./words.mjs").Host} Host */

/**
 * @typedef {object} Action
 * @property {string} label
 * @property {string} says what it does, or ""
 * @property {string} done
 * @property {string} command
 * @property {"PUT" | "DELETE"} method
 * @property {Record<string, unknown>} [body]
 */

/** @param {() => void} again reads the hosts anew */
export function changing(again) {
  /** @type {import("../vendor/signals-core/signals-core.mjs").Signal<Host | null>} */
  const chosen = signal(/** @type {Host | null} */ (null));
  const reason = signal("");
  const wrong = signal("");

  /** @param {Host} host @param {Action} action */
  async function act(host, { method, body, done }) {
    wrong.value = "";
    try {
      await request(method, `v1/os-hosts/${encodeURIComponent(host.id)}`, { body, person: true });
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      wrong.value = error.message;
      return;
    }
    chosen.value = null;
    toast(done, "good");
    again();
  }

  return {
    /** @param {Host} host */
    button: (host) => may("blazar:oshosts:put") || may("blazar:oshosts:delete")
      ? html`<button
          type="button"
          class="quiet"
          aria-label=${t("change_of", { name: host.name })}
          @click=${() => {
            [chosen.value, reason.value, wrong.value] = [host, "", ""];
          }}
        >${t("change")}</button>`
      : nothing,
    view: () => {
      const host = chosen.value;
      if (!host) return nothing;
      return dialog({
        name: "change",
        title: host.name,
        close: () => (chosen.value = null),
        body: html`
          ${wrong.value ? notice("bad", wrong.value) : nothing}
          ${may("blazar:oshosts:put") && !host.disabled
            ? textField({ name: "disabled_reason", label: t("reason"), hint: t("reason_hint"), value: reason.value, input: (text) => (reason.value = text) })
            : nothing}
          ${actionsOf(host, reason.value).map((action) => html`<div class="choice">
            <button type="button" class=${action.method === "DELETE" ? "danger" : ""} @click=${() => act(host, action).catch(reportError)}>${action.label}</button>
            ${action.says ? html`<p class="muted">${action.says}</p>` : nothing}
            ${how({ command: action.command, method: action.method, path: `/v1/os-hosts/${host.id}`, body: action.body })}
          </div>`)}
        `,
      });
    },
  };
}

/** @param {Host} host @param {string} reason @returns {Action[]} */
function actionsOf(host, reason) {
  /** @type {Action[]} */
  const found = [];
  const name = quoted(host.name);
  if (may("blazar:oshosts:put")) found.push(host.disabled ? enabling(host, name) : disabling(host, name, reason), moving(host, name));
  if (may("blazar:oshosts:delete")) {
    const [label, says, done] = [t("remove"), t("remove_says"), t("done_removed", { name: host.name })];
    found.push({ label, says, done, method: "DELETE", command: `leasehold host delete ${name}` });
  }
  return found;
}

/** @param {Host} host @param {string} name @returns {Action} */
function enabling(host, name) {
  const done = t("done_enabled", { name: host.name });
  return { label: t("enable"), says: "", done, method: "PUT", body: { disabled: false }, command: `leasehold host set ${name} --enable` };
}

/** @param {Host} host @param {string} name @param {string} reason @returns {Action} */
function disabling(host, name, reason) {
  return {
    label: t("disable"),
    says: t("disable_says"),
    done: t("done_disabled", { name: host.name }),
    method: "PUT",
    body: { disabled: true, ...(reason ? { disabled_reason: reason } : {}) },
    command: `leasehold host set ${name} --disable ${reason ? quoted(reason) : "''"}`,
  };
}

/** @param {Host} host @param {string} name @returns {Action} */
function moving(host, name) {
  const pool = host.pool === "reservation" || host.pool === "drawing" ? "shared" : "reservation";
  const label = t(pool === "shared" ? "give_back" : "draw");
  const done = t("done_pool", { name: host.name });
  return { label, says: "", done, method: "PUT", body: { pool }, command: `leasehold host set ${name} --pool ${pool}` };
}
