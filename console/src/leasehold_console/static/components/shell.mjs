// What is around every page: header, messages, sign-in, the list of keys.

import { html, nothing, ref } from "../core/html.mjs";
import { listing, pageKeys, shellKeys } from "../core/keys.mjs";
import { href } from "../core/router.mjs";
import { again, leave, mustSignIn, session, switchProject } from "../core/session.mjs";
import { nextTheme, now, theme, zone, zones } from "../core/settings.mjs";
import { texts } from "../core/texts.mjs";
import { MINUTE, offset, parse, relative } from "../core/time.mjs";
import { PAGES } from "../pages/index.mjs";
import shell from "../texts/en/shell.mjs";
import { dialog } from "./dialog.mjs";
import { busy, notice } from "./parts.mjs";
import { signInDialog } from "./signin.mjs";
import { toasts } from "./toast.mjs";

const t = texts(shell);
const WARN_BEFORE = 5 * MINUTE;
const THEME_SIGNS = { system: "◐", light: "☀", dark: "☾" };

/**
 * @param {object} state
 * @param {import("../core/page.mjs").Page | null | undefined} state.page null: there is none at this path
 * @param {string} state.failure why nothing can be shown
 * @param {string} state.path
 */
export function shellView({ page, failure, path }) {
  return html`
    <a class="skip" href="#main" @click=${skip}>${t("skip")}</a>
    ${header(path)} ${expiry()}
    <main id="main" tabindex="-1" class=${page?.wide ? "wide" : ""}>
      ${failure ? notice("bad", failure) : page ? page.view() : page === null ? missing() : session.value ? busy() : nothing}
    </main>
    ${mustSignIn.value ? signInDialog() : nothing} ${listing.value ? keyList() : nothing} ${toasts()}
  `;
}

/** A hash is an address of ours, so the browser must not follow this one. @param {Event} event */
function skip(event) {
  event.preventDefault();
  document.getElementById("main")?.focus();
}

/** On a phone the names of the pages are wider than the screen. @param {Element | undefined} link */
function reveal(link) {
  if (link) queueMicrotask(() => link.scrollIntoView({ block: "nearest", inline: "nearest" }));
}

/** @param {string} path */
function header(path) {
  return html`<header class="bar">
    <a class="brand" href="#/"><img src="icon.svg" alt="" width="20" height="20" />${t("name")}</a>
    <nav aria-label=${t("menu")}>
      ${PAGES.map(({ form, nav, when }) => nav && session.value && (when?.() ?? true)
        ? html`<a href=${href(form)} aria-current=${path === form ? "page" : nothing} ${path === form ? ref(reveal) : nothing}>${nav}</a>`
        : nothing)}
    </nav>
    <div class="bar-end">
      ${projectChoice()}
      <select aria-label=${t("zone")} .value=${zone.value} @change=${(/** @type {Event} */ event) => (zone.value = valueOf(event))}>
        ${zones.value.map((each) => html`<option value=${each} ?selected=${each === zone.value}>${zoneName(each)}</option>`)}
      </select>
      <button type="button" class="icon" aria-label=${t(`theme_${theme.value}`)} title=${t(`theme_${theme.value}`)} @click=${nextTheme}>
        <span aria-hidden="true">${THEME_SIGNS[theme.value]}</span>
      </button>
      <button type="button" class="icon" aria-label=${t("keys")} title="${t("keys")} (?)" @click=${() => (listing.value = true)}>
        <span aria-hidden="true">?</span>
      </button>
      ${session.value
        ? html`<a class="who" href=${href("sign-ins")} title=${t("account", { user: session.value.user.name })}>${session.value.user.name}</a>
            <button type="button" class="quiet" @click=${() => leave().catch(reportError)}>${t("sign_out")}</button>`
        : nothing}
    </div>
  </header>`;
}

/** @param {Event} event */
function valueOf(event) {
  return /** @type {HTMLSelectElement} */ (event.target).value;
}

/** @param {string} name */
function zoneName(name) {
  return name === "UTC" ? "UTC" : `${name.replace(/_/g, " ")} (${offset(name, now.value)})`;
}

function projectChoice() {
  const current = session.value;
  if (!current) return nothing;
  if (!current.can_switch || current.projects.length < 2) return html`<span class="where" title=${t("project")}>${current.project.name}</span>`;
  return html`<select
    aria-label=${t("project")}
    .value=${current.project.id}
    @change=${(/** @type {Event} */ event) => switchProject(valueOf(event)).catch(reportError)}
  >
    ${current.projects.map((each) => html`<option value=${each.id} ?selected=${each.id === current.project.id}>${each.name}</option>`)}
  </select>`;
}

function expiry() {
  const end = session.value?.expires_at ? parse(session.value.expires_at) : Infinity;
  if (end - now.value > WARN_BEFORE) return nothing;
  return notice("warn", html`<span>${t("expires", { when: relative(end, now.value) })}</span>
    <button type="button" class="quiet" @click=${() => (again.value = true)}>${t("expires_again")}</button>`);
}

function missing() {
  return notice("warn", html`<span>${t("nothing_here")}</span> <a href=${href("timeline")}>${t("to_timeline")}</a>`);
}

function keyList() {
  const groups = /** @type {const} */ ([[t("keys_page"), pageKeys.value], [t("keys_everywhere"), shellKeys.value]]);
  const close = () => (listing.value = false);
  return dialog({
    name: "keys",
    title: t("keys"),
    close,
    submit: close,
    body: html`${groups.map(([title, keys]) => keys.length
      ? html`<h3>${title}</h3>
          <dl class="keys">${keys.map((each) => html`<dt><kbd>${each.key}</kbd></dt><dd>${each.says}</dd>`)}</dl>`
      : nothing)}`,
    actions: html`<button type="submit" class="primary">${t("close")}</button>`,
  });
}
