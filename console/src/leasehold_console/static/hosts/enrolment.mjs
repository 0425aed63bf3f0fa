// A host of the cloud is enrolled by its name or id.

import { signal } from "../vendor/signals-core/signals-core.mjs";
import { ApiError, call } from "../api/http.mjs";
import { dialog } from "../components/dialog.mjs";
import { selectField, textField } from "../components/field.mjs";
import { how, quoted } from "../components/parts.mjs";
import { toast } from "../components/toast.mjs";
import { html, nothing } from "../core/html.mjs";
import { may } from "../core/session.mjs";
import { texts } from "../core/texts.mjs";
import catalogue from "../texts/en/hosts.mjs";

const t = texts(catalogue);

/** @param {() => void} again reads the hosts anew */
export function enrolment(again) {
  const shown = signal(false);
  const name = signal("");
  const pool = signal("reservation");
  const wrong = signal("");

  async function enrol() {
    wrong.value = "";
    try {
      await call("POST /v1/os-hosts", { body: { name: name.peek(), pool: pool.peek() }, person: true });
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      wrong.value = error.message;
      return;
    }
    shown.value = false;
    toast(t("enrolled", { name: name.peek() }), "good");
    name.value = "";
    again();
  }

  return {
    button: () => may("blazar:oshosts:post") ? html`<button type="button" @click=${() => (shown.value = true)}>${t("enrol")}</button>` : nothing,
    view: () => shown.value
      ? dialog({
          name: "enrol",
          title: t("enrol"),
          close: () => (shown.value = false),
          submit: () => enrol().catch(reportError),
          body: html`
            ${textField({ name: "name", label: t("enrol_name"), value: name.value, input: (text) => (name.value = text), error: wrong.value, autofocus: true })}
            ${selectField({
              name: "pool",
              label: t("enrol_pool"),
              value: pool.value,
              change: (value) => (pool.value = value),
              options: [["reservation", t("pool_reservation")], ["shared", t("pool_shared")]],
            })}
            ${how({
              command: `leasehold host create ${quoted(name.value || "NAME")} --pool ${pool.value}`,
              method: "POST",
              path: "/v1/os-hosts",
              body: { name: name.value, pool: pool.value },
            })}
          `,
          actions: html`<button type="submit" class="primary">${t("enrol")}</button>`,
        })
      : nothing,
  };
}
