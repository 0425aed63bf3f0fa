// What leaves the service by itself for this project: calendar links, and messages about events.

import { listen } from "../api/events.mjs";
import { html } from "../core/html.mjs";
import { href } from "../core/router.mjs";
import { may } from "../core/session.mjs";
import { texts } from "../core/texts.mjs";
import { calendarLinks } from "../messages/feeds.mjs";
import { hooks } from "../messages/hooks.mjs";
import catalogue from "../texts/en/messages.mjs";

const t = texts(catalogue);

/** @returns {import("../core/page.mjs").Page} */
export function open() {
  const parts = [...(may("leasehold:feeds:get") ? [calendarLinks()] : []), ...(may("leasehold:subscriptions:get") ? [hooks()] : [])];
  const reload = () => Promise.all(parts.map((part) => part.reload())).catch(reportError);
  reload();
  // Each event may be one that a receiver refuses.
  const stop = listen(reload);
  return {
    title: () => t("title"),
    view: () => html`<div class="page-head"><h1>${t("title")}</h1> <a href=${href("sign-ins")}>${t("signins")}</a></div>
      <p class="muted">${t("here")}</p>
      ${parts.map((part) => part.view())}`,
    close: () => {
      stop();
      for (const part of parts) part.close();
    },
  };
}
