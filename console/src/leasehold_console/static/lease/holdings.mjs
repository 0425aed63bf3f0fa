// What a lease has, reservation by reservation, and the buttons that swap it or give it back.

import { signal } from "../vendor/signals-core/signals-core.mjs";
import { ApiError, call } from "../api/http.mjs";
import { dialog } from "../components/dialog.mjs";
import { textField } from "../components/field.mjs";
import { badge, copyButton, how, notice, problem, quoted, time } from "../components/parts.mjs";
import { table } from "../components/table.mjs";
import { toast } from "../components/toast.mjs";
import { html, nothing } from "../core/html.mjs";
import { loader } from "../core/loader.mjs";
import { may } from "../core/session.mjs";
import { texts } from "../core/texts.mjs";
import catalogue from "../texts/en/leases.mjs";
import { asked, boot, condition, counted } from "./words.mjs";

const t = texts(catalogue);

/** @typedef {import("./words.mjs").Lease} Lease */
/** @typedef {import("../../../../types/api").HoldingAnswer} Holding */
/** @typedef {{reservation: string, holding: Holding}} Chosen */

/** @param {string} id of the lease */
export function holdings(id) {
  const list = loader(async (abort) => (await call("GET /v1/leases/{lease_id}/resources", { path: { lease_id: id }, signal: abort })).reservations);
  /** @type {import("../vendor/signals-core/signals-core.mjs").Signal<Chosen | null>} */
  const swapping = signal(/** @type {Chosen | null} */ (null));
  /** @type {import("../vendor/signals-core/signals-core.mjs").Signal<Chosen | null>} */
  const dropping = signal(/** @type {Chosen | null} */ (null));
  return {
    reload: () => list.reload(),
    close: list.close,
    /** @param {Lease} lease @param {() => void} again */
    view: (lease, again) => {
      const { value, error } = list.state.value;
      return html`
        <section class="card">
          <h2>${t("has")}</h2>
          ${problem(error)}
          ${lease.reservations.map((reservation) => {
            const rows = value?.find((each) => each.reservation_id === reservation.id)?.resources ?? [];
            return one(lease, reservation, rows, swapping, dropping);
          })}
        </section>
        ${swapping.value ? swapDialog(lease, swapping.value, swapping, again) : nothing}
        ${dropping.value ? dropDialog(lease, dropping.value, dropping, again) : nothing}
      `;
    },
  };
}

/**
 * @param {Lease} lease @param {import("./words.mjs").Reservation} reservation @param {readonly Holding[]} rows
 * @param {import("../vendor/signals-core/signals-core.mjs").Signal<Chosen | null>} swapping
 * @param {import("../vendor/signals-core/signals-core.mjs").Signal<Chosen | null>} dropping
 */
function one(lease, reservation, rows, swapping, dropping) {
  const [wanted, command] = [condition(reservation), boot(lease, reservation)];
  return html`<div class="reservation">
    <h3>
      ${asked(reservation)} ${reservation.missing_resources ? badge(t("missing"), "bad") : nothing}
      ${reservation.resources_changed ? badge(t("changed"), "warn") : nothing}
    </h3>
    <p class="muted"><code>${reservation.id}</code>${wanted ? html` · <code>${wanted}</code>` : nothing}</p>
    ${command ? html`<p>${t("boot")} <code>${command}</code> ${copyButton(command, t("boot_copy"))}</p>` : nothing}
    ${table({
      caption: `${t("has")}: ${asked(reservation)}`,
      columns: columns(lease, reservation, swapping, dropping),
      rows,
      key: (each) => each.id ?? `${each.name} ${each.start_date}`,
      empty: t("nothing_yet"),
    })}
  </div>`;
}

/**
 * @param {Lease} lease @param {import("./words.mjs").Reservation} reservation
 * @param {import("../vendor/signals-core/signals-core.mjs").Signal<Chosen | null>} swapping
 * @param {import("../vendor/signals-core/signals-core.mjs").Signal<Chosen | null>} dropping
 * @returns {import("../components/table.mjs").Column<Holding>[]}
 */
function columns(lease, reservation, swapping, dropping) {
  const hosts = reservation.resource_type === "physical:host";
  const live = lease.status === "ACTIVE" || lease.status === "PENDING";
  return [
    {
      title: t("host"),
      head: true,
      cell: (held) => html`${nameOf(held)} ${held.left ? badge(t("left")) : nothing} ${held.substitute ? badge(t("substitute"), "warn") : nothing}`,
    },
    { title: t("health"), cell: (held) => (held.health ? badge(held.health, held.health === "healthy" ? "good" : "bad") : "–") },
    { title: t("held_until"), cell: (held) => time(held.end_date, { bare: true }), wide: true },
    { title: t("properties"), cell: (held) => Object.entries(held.properties).map(([key, value]) => `${key}=${value}`).join(", "), wide: true },
    {
      title: "",
      cell: (held) => {
        if (!live || held.left) return nothing;
        const chosen = { reservation: reservation.id, holding: held };
        return html`<div class="actions">
          ${hosts && lease.status === "ACTIVE" && may("leasehold:leases:swap")
            ? html`<button type="button" class="quiet" aria-label="${t("swap")} ${nameOf(held)}" @click=${() => begin(swapping, chosen)}>${t("swap")}</button>`
            : nothing}
          ${held.id && may("blazar:leases:put")
            ? html`<button type="button" class="quiet" aria-label="${t("drop")} ${nameOf(held)}" @click=${() => begin(dropping, chosen)}>${t("drop")}</button>`
            : nothing}
        </div>`;
      },
    },
  ];
}

/** @param {Holding} held */
function nameOf(held) {
  return held.name ?? counted(held.resource_type, 1);
}

/**
 * Sends a change, and closes the dialog if it was made; a refusal stays in it.
 * @param {() => Promise<unknown>} send @param {string} done
 * @param {import("../vendor/signals-core/signals-core.mjs").Signal<Chosen | null>} shown
 * @param {import("../vendor/signals-core/signals-core.mjs").Signal<string>} wrong @param {() => void} again
 */
async function change(send, done, shown, wrong, again) {
  wrong.value = "";
  try {
    await send();
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    wrong.value = error.message;
    return;
  }
  shown.value = null;
  toast(done, "good");
  again();
}

const servers = signal("");
const wrong = signal("");

/**
 * Opens a dialog without what was typed or refused in the one before, which was about another resource.
 * @param {import("../vendor/signals-core/signals-core.mjs").Signal<Chosen | null>} shown @param {Chosen} chosen
 */
function begin(shown, chosen) {
  servers.value = "";
  wrong.value = "";
  shown.value = chosen;
}

/**
 * @param {Lease} lease @param {Chosen} chosen
 * @param {import("../vendor/signals-core/signals-core.mjs").Signal<Chosen | null>} shown @param {() => void} again
 */
function swapDialog(lease, { holding }, shown, again) {
  const words = servers.value.split(/[\s,]+/).filter(Boolean);
  const body = holding.id ? { host: holding.id, servers: words } : { server: words[0] ?? "", servers: words };
  const send = () => call("POST /v1/leases/{lease_id}/swap", { path: { lease_id: lease.id }, body, person: true });
  const options = words.map((each) => `--server ${quoted(each)}`).join(" ");
  return dialog({
    name: "swap",
    title: t("swap_title"),
    close: () => (shown.value = null),
    submit: () => change(send, t("swapped"), shown, wrong, again).catch(reportError),
    body: html`
      <p>${t("swap_hint")}</p>
      ${wrong.value ? notice("bad", wrong.value) : nothing}
      ${textField({
        name: "servers",
        label: holding.id ? t("swap_servers") : t("swap_server"),
        ...(holding.id ? {} : { hint: t("swap_server_hint") }),
        value: servers.value,
        input: (text) => (servers.value = text),
      })}
      ${how({
        command: `leasehold lease swap ${quoted(lease.id)} ${holding.name ? `--host ${quoted(holding.name)} ` : ""}${options}`.trim(),
        method: "POST",
        path: `/v1/leases/${lease.id}/swap`,
        body,
      })}
    `,
    actions: html`<button type="submit" class="primary">${t("swap")}</button>`,
  });
}

/**
 * @param {Lease} lease @param {Chosen} chosen
 * @param {import("../vendor/signals-core/signals-core.mjs").Signal<Chosen | null>} shown @param {() => void} again
 */
function dropDialog(lease, { reservation, holding }, shown, again) {
  const path = { lease_id: lease.id, reservation_id: reservation, resource_id: holding.id ?? "" };
  const send = () => call("DELETE /v1/leases/{lease_id}/reservations/{reservation_id}/resources/{resource_id}", { path, person: true });
  return dialog({
    name: "drop",
    title: t("drop_title", { name: nameOf(holding) }),
    close: () => (shown.value = null),
    submit: () => change(send, t("dropped"), shown, wrong, again).catch(reportError),
    body: html`
      <p>${t("drop_hint")}</p>
      ${wrong.value ? notice("bad", wrong.value) : nothing}
      ${how({
        command: `leasehold lease drop ${quoted(lease.id)} ${reservation} --resource ${quoted(path.resource_id)}`,
        method: "DELETE",
        path: `/v1/leases/${lease.id}/reservations/${reservation}/resources/${path.resource_id}`,
      })}
    `,
    actions: html`<button type="submit" class="danger">${t("drop")}</button>`,
  });
}
