// A link with which calendar programs read the leases of this person.

import { signal } from "../vendor/signals-core/signals-core.mjs";
import { ApiError, call } from "../api/http.mjs";
import { copyButton, how } from "../components/parts.mjs";
import { toast } from "../components/toast.mjs";
import { html, nothing } from "../core/html.mjs";
import { href } from "../core/router.mjs";
import { may } from "../core/session.mjs";
import { texts } from "../core/texts.mjs";
import catalogue from "../texts/en/leases.mjs";

const t = texts(catalogue);
const BODY = { name: "console", own: true };

export function calendarLink() {
  const address = signal("");

  async function make() {
    try {
      const { feed } = await call("POST /v1/feeds", { body: BODY, person: true });
      address.value = feed.url ?? "";
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      toast(error.message, "bad");
    }
  }

  return {
    view: () => !may("leasehold:feeds:post")
      ? nothing
      : html`<section class="card">
          <h2>${t("calendar")}</h2>
          ${address.value
            ? html`<p><code class="address">${address.value}</code> ${copyButton(address.value)}</p>`
            : html`<button type="button" @click=${() => make().catch(reportError)}>${t("calendar_make")}</button>`}
          <p class="muted hint">${t("calendar_hint")} <a href=${href("messages")}>${t("calendar_all")}</a></p>
          ${how({ command: "leasehold feed create console --own", method: "POST", path: "/v1/feeds", body: BODY })}
        </section>`,
  };
}
