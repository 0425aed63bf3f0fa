// All pages. A page is one line here, a file beside this one, texts in texts/en/ and styles in css/.

/** The first one is where the console begins. @type {readonly import("../core/page.mjs").Entry[]} */
export const PAGES = [
  { form: "sign-ins", load: () => import("./signins.mjs") },
];
