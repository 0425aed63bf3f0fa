// The deletion of a lease, which is asked about once more.

import { call } from "../api/http.mjs";
import { quoted } from "../components/parts.mjs";
import { removal } from "../components/removal.mjs";
import { html, nothing } from "../core/html.mjs";
import { may } from "../core/session.mjs";
import { texts } from "../core/texts.mjs";
import catalogue from "../texts/en/leases.mjs";

const t = texts(catalogue);

/** @typedef {import("./words.mjs").Lease} Lease */

/** @param {string} id @param {() => Lease | null | undefined} lease as it is now @param {() => void} after */
export function deletion(id, lease, after) {
  const removing = removal(after);
  const question = () => ({
    ...{ title: t("delete_title", { name: lease()?.name || id }), says: t(lease()?.status === "ACTIVE" ? "delete_active" : "delete_pending") },
    ...{ verb: t("delete"), keep: t("cancel"), done: t("deleting") },
    ...{ command: `leasehold lease delete ${quoted(id)}`, path: `/v1/leases/${id}` },
    send: () => call("DELETE /v1/leases/{lease_id}", { path: { lease_id: id }, person: true }),
  });
  return {
    button: () => may("blazar:leases:delete")
      ? html`<button type="button" class="danger" @click=${() => removing.ask(question)}>${t("delete")}</button>`
      : nothing,
    view: removing.view,
  };
}
