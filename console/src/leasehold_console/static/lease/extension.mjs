// Buttons that extend a lease, with the largest length that fits; and its end, to be typed.

import { signal } from "../vendor/signals-core/signals-core.mjs";
import { ApiError, call } from "../api/http.mjs";
import { textField } from "../components/field.mjs";
import { how, notice, quoted } from "../components/parts.mjs";
import { toast } from "../components/toast.mjs";
import { html, nothing } from "../core/html.mjs";
import { loader } from "../core/loader.mjs";
import { zone } from "../core/settings.mjs";
import { texts } from "../core/texts.mjs";
import { absolute, fromLocal, iso, parse, span, toLocal } from "../core/time.mjs";
import catalogue from "../texts/en/leases.mjs";
import { bound, lengths, longest } from "./extending.mjs";
import { endOf } from "./words.mjs";

const t = texts(catalogue);

/** @typedef {import("./words.mjs").Lease} Lease */

/** @param {string} id */
export function extension(id) {
  /** @type {Lease | null} */
  let current = null;
  const asked = loader(async (abort) => (current && endOf(current) !== null ? bound(current, abort) : null));
  const typed = signal("");
  const wrong = signal("");

  /** @param {number} end @param {() => void} again */
  async function extend(end, again) {
    wrong.value = "";
    try {
      const { lease } = await call("PUT /v1/leases/{lease_id}", { path: { lease_id: id }, body: { end_date: iso(end) }, person: true });
      typed.value = "";
      toast(t("extended", { when: absolute(parse(lease.end_date), zone.peek()) }), "good");
      again();
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      wrong.value = error.message;
    }
  }

  return {
    /** @param {Lease} lease */
    reload: async (lease) => {
      const same = current && current.end_date === lease.end_date && current.updated_at === lease.updated_at;
      current = lease;
      if (!same) await asked.reload();
    },
    close: asked.close,
    /** @param {Lease} lease @param {() => void} again */
    view: (lease, again) => {
      const end = endOf(lease);
      if (end === null) return nothing;
      const found = asked.state.value.value;
      const until = found?.until ?? null;
      /** @param {number} to */
      const button = (to) => extend(to, again).catch(reportError);
      return html`<section class="card">
        <h2>${t("extend")}</h2>
        <div class="actions" aria-busy=${asked.state.value.busy ? "true" : "false"}>
          ${lengths(end, until).map(({ length, fits }) => html`<button type="button" ?disabled=${!fits} @click=${() => button(end + length)}>
            ${t("extend_by", { span: span(length) })}
          </button>`)}
          ${most(longest(end, until), end, button)}
        </div>
        ${found?.reason ? reason(found, end) : html`<p class="muted hint">${t("extend_free")}</p>`}
        ${typedEnd(typed, wrong, end, button)}
        ${how({
          command: `leasehold lease extend ${quoted(lease.id)} --for 1h`,
          method: "PUT",
          path: `/v1/leases/${lease.id}`,
          body: { end_date: iso(end + 3_600_000) },
        })}
      </section>`;
    },
  };
}

/** @param {import("./extending.mjs").Length | null} largest @param {number} end @param {(to: number) => void} button */
function most(largest, end, button) {
  if (!largest) return nothing;
  const to = end + largest.length;
  return html`<button type="button" class="primary" @click=${() => button(to)}>${t("extend_most", { when: absolute(to, zone.value) })}</button>`;
}

/** @param {import("./extending.mjs").Bound} found @param {number} end */
function reason({ until, reason: why }, end) {
  const says = until !== null && until > end ? t("extend_bound", { when: absolute(until, zone.value) }) : t("extend_none");
  return notice("info", html`<span>${says} ${why}</span>`);
}

/**
 * @param {import("../vendor/signals-core/signals-core.mjs").Signal<string>} typed
 * @param {import("../vendor/signals-core/signals-core.mjs").Signal<string>} wrong
 * @param {number} end @param {(to: number) => void} button
 */
function typedEnd(typed, wrong, end, button) {
  const value = typed.value || toLocal(end, zone.value);
  const moment = fromLocal(value, zone.value);
  return html`<div class="typed-end">
    ${textField({
      name: "end_date",
      label: `${t("until_typed")} (${zone.value})`,
      type: "datetime-local",
      value,
      input: (text) => {
        typed.value = text;
        wrong.value = "";
      },
      ...(wrong.value ? { error: wrong.value } : {}),
    })}
    <button type="button" ?disabled=${Number.isNaN(moment) || moment === end} @click=${() => button(moment)}>${t("set_end")}</button>
  </div>`;
}
