// All pages. A page is one line here, a file beside this one, texts in texts/en/ and styles in css/.

import { match } from "../core/router.mjs";
import { may } from "../core/session.mjs";
import { texts } from "../core/texts.mjs";
import shell from "../texts/en/shell.mjs";

const t = texts(shell);

/** The first one is where the console begins. @type {readonly import("../core/page.mjs").Entry[]} */
export const PAGES = [
  { form: "start", load: () => import("./start.mjs"), nav: t("start"), key: "s" },
  { form: "timeline", load: () => import("./timeline.mjs"), nav: t("timeline"), key: "t" },
  { form: "leases", load: () => import("./leases.mjs"), nav: t("leases"), key: "l", when: () => may("blazar:leases:get") },
  { form: "leases/new", load: () => import("./newlease.mjs"), nav: t("new_lease"), key: "n", when: () => may("blazar:leases:post") },
  { form: "leases/:id", load: () => import("./lease.mjs") },
  { form: "operations", load: () => import("./operations.mjs"), nav: t("operations"), key: "o", when: () => may("leasehold:audit:get") },
  { form: "hosts", load: () => import("./hosts.mjs"), nav: t("hosts"), key: "h", when: () => may("leasehold:resources:get") && may("blazar:oshosts:get") },
  { form: "power", load: () => import("./power.mjs"), nav: t("power"), key: "p", when: () => may("leasehold:power:get") },
  { form: "usage", load: () => import("./usage.mjs"), nav: t("usage"), key: "u", when: () => may("leasehold:usage:get") },
  { form: "budgets", load: () => import("./budgets.mjs"), nav: t("budgets"), key: "b", when: () => may("leasehold:budgets:get") },
  { form: "capacity", load: () => import("./capacity.mjs"), nav: t("capacity"), key: "c", when: () => may("leasehold:timeline:get_all") && may("leasehold:availability:get") },
  { form: "messages", load: () => import("./messages.mjs") },
  { form: "sign-ins", load: () => import("./signins.mjs") },
];

/** Whether there is a page at a path. @param {string} path */
export function leads(path) {
  return PAGES.some((entry) => match(entry.form, path));
}
