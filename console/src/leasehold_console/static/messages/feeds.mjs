// Links that calendar programs read: made, listed and revoked.

import { signal } from "../vendor/signals-core/signals-core.mjs";
import { ApiError, call } from "../api/http.mjs";
import { selectField, textField } from "../components/field.mjs";
import { badge, busy, copyButton, how, notice, problem, quoted, time } from "../components/parts.mjs";
import { removal } from "../components/removal.mjs";
import { table } from "../components/table.mjs";
import { html, nothing } from "../core/html.mjs";
import { loader } from "../core/loader.mjs";
import { may, session } from "../core/session.mjs";
import { texts } from "../core/texts.mjs";
import catalogue from "../texts/en/messages.mjs";

const t = texts(catalogue);

/** @typedef {import("../../../../types/api").FeedAnswer} Feed */

export function calendarLinks() {
  const list = loader(async (abort) => (await call("GET /v1/feeds", { signal: abort })).feeds);
  const again = () => list.reload().catch(reportError);
  const removing = removal(again);
  const typed = signal({ name: "", own: true });
  /** The address of the link that was made last; it is kept nowhere else. */
  const address = signal("");
  const wrong = signal("");

  async function make() {
    [wrong.value, address.value] = ["", ""];
    try {
      address.value = (await call("POST /v1/feeds", { body: typed.peek(), person: true })).feed.url ?? "";
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      wrong.value = error.message;
      return;
    }
    typed.value = { ...typed.peek(), name: "" };
    again();
  }

  /** @param {Feed} feed */
  function revoke(feed) {
    const name = feed.name || t("unnamed");
    removing.ask(() => ({
      ...{ title: t("revoke_title", { name }), says: t("revoke_says"), verb: t("revoke"), keep: t("cancel"), done: t("revoked", { name }) },
      ...{ command: `leasehold feed delete ${feed.id}`, path: `/v1/feeds/${feed.id}` },
      send: async () => {
        await call("DELETE /v1/feeds/{feed_id}", { path: { feed_id: feed.id }, person: true });
        address.value = "";
      },
    }));
  }

  return {
    reload: () => list.reload(),
    close: list.close,
    view: () => {
      const { value, error } = list.state.value;
      return html`<section class="card" aria-label=${t("feeds")}>
          <h2>${t("feeds")}</h2>
          <p class="muted">${t("feeds_hint")}</p>
          ${may("leasehold:feeds:post") ? maker(typed, wrong.value, () => make().catch(reportError)) : nothing}
          ${address.value ? notice("good", html`<span>${t("made_once")} <code class="address">${address.value}</code></span> ${copyButton(address.value, t("copy_address"))}`) : nothing}
          ${problem(error, again)}
          ${value ? table({ caption: t("feeds"), columns: columns(revoke), rows: value, key: (each) => each.id, empty: t("feeds_empty") }) : error ? nothing : busy()}
        </section>
        ${removing.view()}`;
    },
  };
}

/** @param {import("../vendor/signals-core/signals-core.mjs").Signal<{name: string, own: boolean}>} typed @param {string} wrong @param {() => void} make */
function maker(typed, wrong, make) {
  const { name, own } = typed.value;
  return html`<form
      class="fields"
      @submit=${(/** @type {SubmitEvent} */ event) => {
        event.preventDefault();
        make();
      }}
    >
      ${textField({ name: "feed", label: t("name"), value: name, input: (text) => (typed.value = { ...typed.peek(), name: text }), error: wrong })}
      ${selectField({
        ...{ name: "whose", label: t("whose"), value: own ? "own" : "all", options: [["own", t("whose_own")], ["all", t("whose_all")]] },
        change: (next) => (typed.value = { ...typed.peek(), own: next === "own" }),
      })}
      <div class="field act"><button type="submit">${t("make")}</button></div>
    </form>
    ${how({ command: `leasehold feed create ${quoted(name || "NAME")}${own ? " --own" : ""}`, method: "POST", path: "/v1/feeds", body: typed.value })}`;
}

/** @param {(feed: Feed) => void} revoke @returns {import("../components/table.mjs").Column<Feed>[]} */
function columns(revoke) {
  return [
    {
      title: t("name"),
      head: true,
      cell: (each) => html`<span class="anywhere">${each.name || t("unnamed")}</span> ${each.user_id === session.value?.user.id ? badge(t("mine"), "mine") : nothing}`,
    },
    { title: t("whose"), cell: (each) => t(each.own ? "whose_own" : "whose_all"), wide: true },
    { title: t("made"), cell: (each) => time(each.created_at) },
    {
      title: "",
      cell: (each) => may("leasehold:feeds:delete")
        ? html`<button type="button" class="quiet" aria-label=${t("revoke_title", { name: each.name || t("unnamed") })} @click=${() => revoke(each)}>${t("revoke")}</button>`
        : nothing,
    },
  ];
}
