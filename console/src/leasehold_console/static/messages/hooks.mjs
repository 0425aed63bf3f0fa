// Messages that are sent when something happens: how their deliveries fare, and an end to them.

import { call } from "../api/http.mjs";
import { badge, busy, how, problem, time } from "../components/parts.mjs";
import { removal } from "../components/removal.mjs";
import { table } from "../components/table.mjs";
import { html, nothing } from "../core/html.mjs";
import { loader } from "../core/loader.mjs";
import { may, session } from "../core/session.mjs";
import { texts } from "../core/texts.mjs";
import { deliveryStatus } from "../operations/status.mjs";
import catalogue from "../texts/en/messages.mjs";

const t = texts(catalogue);

/** @typedef {import("../../../../types/api").SubscriptionAnswer} Subscription */

export function hooks() {
  const list = loader(async (abort) => (await call("GET /v1/subscriptions", { signal: abort })).subscriptions);
  const again = () => list.reload().catch(reportError);
  const removing = removal(again);

  /** @param {Subscription} one */
  const remove = (one) => removing.ask(() => ({
    ...{ title: t("remove_title", { name: one.target }), says: t("remove_says"), verb: t("remove"), keep: t("cancel"), done: t("removed", { name: one.target }) },
    ...{ command: `leasehold subscription delete ${one.id}`, path: `/v1/subscriptions/${one.id}` },
    send: () => call("DELETE /v1/subscriptions/{subscription_id}", { path: { subscription_id: one.id }, person: true }),
  }));

  return {
    reload: () => list.reload(),
    close: list.close,
    view: () => {
      const { value, error } = list.state.value;
      return html`<section class="card" aria-label=${t("hooks")}>
          <h2>${t("hooks")}</h2>
          <p class="muted">${t("hooks_hint")}</p>
          ${problem(error, again)}
          ${value ? table({ caption: t("hooks"), columns: columns(remove), rows: value, key: (each) => each.id, empty: t("hooks_empty") }) : error ? nothing : busy()}
          ${may("leasehold:subscriptions:post")
            ? how({ command: "leasehold subscription create https://example.org/hook --own", method: "POST", path: "/v1/subscriptions", body: { target: "https://example.org/hook", own: true } })
            : nothing}
        </section>
        ${removing.view()}`;
    },
  };
}

/** @param {(one: Subscription) => void} remove @returns {import("../components/table.mjs").Column<Subscription>[]} */
function columns(remove) {
  return [
    {
      title: t("target"),
      head: true,
      cell: (each) => html`<span class="anywhere">${each.target}</span> ${each.user_id === session.value?.user.id ? badge(t("mine"), "mine") : nothing}`,
    },
    { title: t("events"), cell: (each) => eventsOf(each.event_types), wide: true },
    { title: t("state"), cell: (each) => html`${deliveryStatus(each.status)} ${each.last_error ? html`<div class="muted anywhere">${each.last_error}</div>` : nothing}` },
    { title: t("next_try"), cell: (each) => time(each.next_try), wide: true },
    {
      title: "",
      cell: (each) => may("leasehold:subscriptions:delete")
        ? html`<button type="button" class="quiet" aria-label=${t("remove_title", { name: each.target })} @click=${() => remove(each)}>${t("remove")}</button>`
        : nothing,
    },
  ];
}

/** @param {readonly string[]} types */
function eventsOf(types) {
  const [first = ""] = types;
  return types.length ? t("events_some", { first, count: types.length, more: types.length - 1 }) : t("events_all");
}
