// What operators look at first: what broke and what was done, what starts soon, the audit, deliveries and refusals.

import { listen } from "../api/events.mjs";
import { html } from "../core/html.mjs";
import { may } from "../core/session.mjs";
import { texts } from "../core/texts.mjs";
import { audit } from "../operations/audit.mjs";
import { deliveries } from "../operations/deliveries.mjs";
import { refusals } from "../operations/refusals.mjs";
import { soon } from "../operations/soon.mjs";
import { happenings } from "../operations/story.mjs";
import catalogue from "../texts/en/operations.mjs";

const t = texts(catalogue);

/** @returns {import("../core/page.mjs").Page} */
export function open() {
  const told = happenings();
  const starts = soon();
  const parts = [
    told,
    starts,
    ...(may("leasehold:audit:get") ? [audit()] : []),
    ...(may("leasehold:subscriptions:get") ? [deliveries()] : []),
    ...(may("leasehold:refusals:get") ? [refusals()] : []),
  ];
  const reload = () => Promise.all(parts.map((part) => part.reload())).catch(reportError);
  reload();
  const stop = listen((events) => {
    if (told.concerns(events)) told.reload().catch(reportError);
    if (!events.length || events.some((each) => each.lease_id)) starts.reload().catch(reportError);
  });
  return {
    title: () => t("title"),
    keys: [{ key: "r", says: t("read_again"), run: reload }],
    view: () => html`<div class="page-head"><h1>${t("title")}</h1></div>
      ${parts.map((part) => part.view())}`,
    close: () => {
      stop();
      for (const part of parts) part.close();
    },
  };
}
