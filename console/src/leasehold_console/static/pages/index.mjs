// All pages. A page is one line here, a file beside this one, texts in texts/en/ and styles in css/.

import { may } from "../core/session.mjs";
import { texts } from "../core/texts.mjs";
import shell from "../texts/en/shell.mjs";

const t = texts(shell);

/** The first one is where the console begins. @type {readonly import("../core/page.mjs").Entry[]} */
export const PAGES = [
  { form: "leases", load: () => import("./leases.mjs"), nav: t("leases"), key: "l", when: () => may("blazar:leases:get") },
  { form: "leases/:id", load: () => import("./lease.mjs") },
  { form: "sign-ins", load: () => import("./signins.mjs") },
];
