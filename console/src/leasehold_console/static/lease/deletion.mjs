// The deletion of a lease, which is asked about once more.

import { signal } from "../vendor/signals-core/signals-core.mjs";
import { ApiError, call } from "../api/http.mjs";
import { dialog } from "../components/dialog.mjs";
import { how, notice, quoted } from "../components/parts.mjs";
import { toast } from "../components/toast.mjs";
import { html, nothing } from "../core/html.mjs";
import { may } from "../core/session.mjs";
import { texts } from "../core/texts.mjs";
import catalogue from "../texts/en/leases.mjs";

const t = texts(catalogue);

/** @typedef {import("./words.mjs").Lease} Lease */

/** @param {string} id */
export function deletion(id) {
  const shown = signal(false);
  const wrong = signal("");

  /** @param {() => void} done */
  async function remove(done) {
    wrong.value = "";
    try {
      await call("DELETE /v1/leases/{lease_id}", { path: { lease_id: id }, person: true });
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      wrong.value = error.message;
      return;
    }
    toast(t("deleting"), "good");
    done();
  }

  return {
    button: () => may("blazar:leases:delete")
      ? html`<button type="button" class="danger" @click=${() => (shown.value = true)}>${t("delete")}</button>`
      : nothing,
    /** @param {Lease} lease @param {() => void} done */
    view: (lease, done) => shown.value
      ? dialog({
          name: "delete",
          title: t("delete_title", { name: lease.name || lease.id }),
          close: () => (shown.value = false),
          submit: () => remove(done).catch(reportError),
          body: html`
            ${wrong.value ? notice("bad", wrong.value) : nothing}
            <p>${t(lease.status === "ACTIVE" ? "delete_active" : "delete_pending")}</p>
            ${how({ command: `leasehold lease delete ${quoted(lease.id)}`, method: "DELETE", path: `/v1/leases/${lease.id}` })}
          `,
          actions: html`<button type="submit" class="danger">${t("delete")}</button>
            <button type="button" @click=${() => (shown.value = false)}>${t("cancel")}</button>`,
        })
      : nothing,
  };
}
