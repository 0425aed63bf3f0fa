// Where the person is signed in, and a button to end each.

import { request } from "../api/http.mjs";
import { badge, busy, problem, time } from "../components/parts.mjs";
import { table } from "../components/table.mjs";
import { toast } from "../components/toast.mjs";
import { html, nothing } from "../core/html.mjs";
import { loader } from "../core/loader.mjs";
import { href } from "../core/router.mjs";
import { fetchSession } from "../core/session.mjs";
import { zone } from "../core/settings.mjs";
import { texts } from "../core/texts.mjs";
import { absolute, parse } from "../core/time.mjs";
import catalogue from "../texts/en/signins.mjs";

const t = texts(catalogue);

/**
 * @typedef {object} SignedIn
 * @property {string} id
 * @property {boolean} current
 * @property {{id: string, name: string | null}} project
 * @property {string} created
 * @property {string} seen
 * @property {string} expires_at
 */

/** @returns {import("../core/page.mjs").Page} */
export function open() {
  const list = loader(async (signal) => /** @type {SignedIn[]} */ ((await request("GET", "sessions", { signal })).sessions));
  const reload = () => list.reload().catch(reportError);
  reload();

  /** @param {SignedIn} one */
  async function end(one) {
    await request("DELETE", `sessions/${encodeURIComponent(one.id)}`, { person: true });
    toast(t("ended"), "good");
    if (one.current) await fetchSession();
    else await list.reload();
  }

  /** @type {import("../components/table.mjs").Column<SignedIn>[]} */
  const columns = [
    {
      title: t("project"),
      head: true,
      cell: (one) => html`${one.project.name ?? t("other")} ${one.current ? badge(t("here"), "mine") : nothing}`,
    },
    { title: t("created"), cell: (one) => time(one.created) },
    { title: t("seen"), cell: (one) => time(one.seen) },
    { title: t("expires"), cell: (one) => time(one.expires_at), wide: true },
    {
      title: "",
      cell: (one) => html`<button
        type="button"
        class="quiet"
        aria-label=${t("end_label", { when: absolute(parse(one.created), zone.value) })}
        @click=${() => end(one).catch(reportError)}
      >${t("end")}</button>`,
    },
  ];

  return {
    title: () => t("title"),
    view: () => {
      const { value, error } = list.state.value;
      const rows = [...(value ?? [])].sort((one, other) => Number(other.current) - Number(one.current));
      return html`
        <div class="page-head"><h1>${t("title")}</h1> <a href=${href("messages")}>${t("messages")}</a></div>
        <p class="muted">${t("hint")}</p>
        ${problem(error, reload)}
        ${value ? table({ caption: t("title"), columns, rows, key: (one) => one.id }) : error ? nothing : busy()}
      `;
    },
    close: list.close,
  };
}
