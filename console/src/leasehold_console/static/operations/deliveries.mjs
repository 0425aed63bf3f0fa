// Deliveries of events: the subscriptions of all projects, those that fail first, with dead letters and replay.

import { signal } from "../vendor/signals-core/signals-core.mjs";
import { ApiError, call } from "../api/http.mjs";
import { dialog } from "../components/dialog.mjs";
import { how, notice, problem, time } from "../components/parts.mjs";
import { table } from "../components/table.mjs";
import { toast } from "../components/toast.mjs";
import { html, nothing } from "../core/html.mjs";
import { loader } from "../core/loader.mjs";
import { may } from "../core/session.mjs";
import { texts } from "../core/texts.mjs";
import catalogue from "../texts/en/operations.mjs";
import { deliveryStatus } from "./status.mjs";

const t = texts(catalogue);
const MOST = 1000;
const ORDER = ["suspended", "failing", "active"];

/** @typedef {import("../../../../types/api").SubscriptionAnswer} Subscription */
/** @typedef {import("../../../../types/api").DeadLetterAnswer} DeadLetter */

export function deliveries() {
  const list = loader(async (abort) => (await call("GET /v1/subscriptions", { query: { all_projects: true, limit: MOST }, signal: abort })).subscriptions);
  /** @type {import("../vendor/signals-core/signals-core.mjs").Signal<Subscription | null>} */
  const chosen = signal(/** @type {Subscription | null} */ (null));
  const wrong = signal("");
  const letters = loader(async (abort) => {
    const path = { subscription_id: chosen.peek()?.id ?? "" };
    return (await call("GET /v1/subscriptions/{subscription_id}/dead-letters", { path, query: { limit: MOST }, signal: abort })).dead_letters;
  });

  /** @param {Subscription} one */
  function show(one) {
    chosen.value = one;
    wrong.value = "";
    letters.reload().catch(reportError);
  }

  /** @param {string} [event] the first event to send again */
  async function replay(event) {
    const path = { subscription_id: chosen.peek()?.id ?? "" };
    try {
      await call("POST /v1/subscriptions/{subscription_id}/replay", { path, body: event ? { event_id: event } : {}, person: true });
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      wrong.value = error.message;
      return;
    }
    chosen.value = null;
    toast(t("replayed"), "good");
    await list.reload();
  }

  return {
    reload: () => list.reload(),
    close: () => {
      list.close();
      letters.close();
    },
    view: () => {
      const { value, error } = list.state.value;
      const rows = [...(value ?? [])].sort((one, other) => ORDER.indexOf(one.status) - ORDER.indexOf(other.status));
      return html`<section class="card">
          <h2>${t("deliveries")}</h2>
          ${problem(error)} ${value ? table({ caption: t("deliveries"), columns: columns(show), rows, key: (each) => each.id, empty: t("deliveries_empty") }) : nothing}
        </section>
        ${chosen.value
          ? lettersDialog(chosen.value, letters.state.value, wrong.value, (event) => replay(event).catch(reportError), () => (chosen.value = null))
          : nothing}`;
    },
  };
}

/** @param {(one: Subscription) => void} show @returns {import("../components/table.mjs").Column<Subscription>[]} */
function columns(show) {
  return [
    { title: t("target"), head: true, cell: (each) => html`<span class="anywhere">${each.target}</span>` },
    { title: t("state"), cell: (each) => deliveryStatus(each.status) },
    { title: t("last_error"), cell: (each) => html`<span class="anywhere">${each.last_error ?? "–"}</span>`, wide: true },
    { title: t("next_try"), cell: (each) => time(each.next_try), wide: true },
    { title: t("project"), cell: (each) => each.project_id, wide: true },
    {
      title: "",
      cell: (each) => html`<button type="button" class="quiet" aria-label=${t("dead_of", { target: each.target })} @click=${() => show(each)}>${t("dead_letters")}</button>`,
    },
  ];
}

/**
 * @param {Subscription} one @param {import("../core/loader.mjs").Loaded<DeadLetter[]>} loaded @param {string} wrong
 * @param {(event?: string) => void} replay @param {() => void} close
 */
function lettersDialog(one, { value, error }, wrong, replay, close) {
  const allowed = may("leasehold:subscriptions:replay");
  return dialog({
    name: "dead-letters",
    title: t("dead_of", { target: one.target }),
    close,
    submit: () => replay(),
    body: html`
      <p>${t("dead_hint")}</p>
      ${wrong ? notice("bad", wrong) : nothing} ${problem(error)}
      ${value?.length === 0 ? html`<p class="muted">${t("dead_empty")}</p>` : nothing}
      <ul class="changes letters">
        ${(value ?? []).map((each) => html`<li>
          <strong>${each.type}</strong> ${time(each.died_at)}
          <div class="anywhere">${each.error}</div>
          ${allowed ? html`<button type="button" class="quiet" @click=${() => replay(each.id)}>${t("replay")}</button>` : nothing}
        </li>`)}
      </ul>
      ${how({ command: `leasehold subscription replay ${one.id}`, method: "POST", path: `/v1/subscriptions/${one.id}/replay`, body: {} })}
    `,
    actions: allowed ? html`<button type="submit" class="primary">${t("go_on")}</button>` : nothing,
  });
}
