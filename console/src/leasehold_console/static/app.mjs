// The console begins here: session, router, header; the page that is open draws the rest.

import { batch, computed, effect, signal } from "./vendor/signals-core/signals-core.mjs";
import { followSession } from "./api/events.mjs";
import { ApiError, sessionEnded } from "./api/http.mjs";
import { shellView } from "./components/shell.mjs";
import { render } from "./core/html.mjs";
import { hearKeys, listing, pageKeys, shellKeys } from "./core/keys.mjs";
import { followAddress, go, match, route } from "./core/router.mjs";
import { fetchSession, known, session } from "./core/session.mjs";
import { beginSettings } from "./core/settings.mjs";
import { texts } from "./core/texts.mjs";
import { PAGES } from "./pages/index.mjs";
import shell from "./texts/en/shell.mjs";

const t = texts(shell);
const root = /** @type {HTMLElement} */ (document.getElementById("app"));
/** @type {import("./vendor/signals-core/signals-core.mjs").Signal<import("./core/page.mjs").Page | null | undefined>} */
const page = signal(/** @type {import("./core/page.mjs").Page | null | undefined} */ (undefined));
/** @type {import("./vendor/signals-core/signals-core.mjs").Signal<string>} */
const failure = signal("");
const path = computed(() => route.value.path);
/** Who works where: a page is opened anew for another one. */
const identity = computed(() => (session.value ? `${session.value.user.id} ${session.value.project.id}` : ""));

/** Closes the page that is open. */
function close() {
  page.peek()?.close?.();
  batch(() => {
    page.value = undefined;
    pageKeys.value = [];
  });
}

/** Opens the page of a path; the one that was open is closed. @param {string} at */
async function open(at) {
  close();
  for (const entry of PAGES) {
    const found = match(entry.form, at);
    if (!found) continue;
    const module = await entry.load();
    if (path.peek() !== at || page.peek() !== undefined) return;
    const opened = module.open(found);
    batch(() => {
      pageKeys.value = opened.keys ?? [];
      page.value = opened;
    });
    return;
  }
  page.value = null;
}

async function begin() {
  beginSettings();
  followAddress();
  hearKeys();
  if (!route.peek().path) history.replaceState(null, "", `#/${PAGES[0]?.form}`), (route.value = { path: PAGES[0]?.form ?? "", query: new URLSearchParams() });
  shellKeys.value = [
    { key: "?", says: t("key_help"), run: () => (listing.value = true) },
    ...PAGES.flatMap(({ form, nav, key }) => (nav && key ? [{ key, says: t("key_go", { page: nav }), run: () => go(form) }] : [])),
  ];
  effect(() => {
    render(shellView({ page: page.value, failure: failure.value, path: path.value }), root);
  });
  effect(() => {
    document.title = page.value ? `${page.value.title()} · ${t("name")}` : t("name");
  });
  // The page is on its way while the session is asked for.
  const first = PAGES.find((entry) => match(entry.form, path.peek()));
  first?.load().catch(reportError);
  try {
    await fetchSession();
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    failure.value = error.message;
    return;
  }
  followSession();
  // A page that is open stays when the session ends by itself: the sign-in is over it, and what was typed is still
  // there. It goes when somebody signs out.
  effect(() => {
    const at = path.value;
    if (known.value && identity.value) open(at).catch(reportError);
    else if (!sessionEnded.peek()) close();
  });
  effect(() => {
    if (sessionEnded.value && session.peek()) fetchSession().catch(reportError);
  });
}

begin().catch(reportError);
