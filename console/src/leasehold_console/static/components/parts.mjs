// Small things that every page uses.

import { curl } from "../core/command.mjs";
import { html, nothing } from "../core/html.mjs";
import { now, zone } from "../core/settings.mjs";
import { texts } from "../core/texts.mjs";
import { absolute, iso, parse, relative } from "../core/time.mjs";
import shell from "../texts/en/shell.mjs";
import { toast } from "./toast.mjs";

export { curl, quoted } from "../core/command.mjs";

const t = texts(shell);

/**
 * A moment in the chosen zone, and how far away it is.
 * @param {string | number | null | undefined} moment a date of the API, or milliseconds
 * @param {{bare?: boolean}} [options] bare: without how far away
 */
export function time(moment, { bare = false } = {}) {
  if (moment === null || moment === undefined || moment === "") return html`<span class="muted">–</span>`;
  const at = typeof moment === "number" ? moment : parse(moment);
  const text = absolute(at, zone.value);
  return html`<time datetime=${iso(at)} title="${text} ${zone.value}">${text}${bare ? nothing : html` <span class="muted">${relative(at, now.value)}</span>`}</time>`;
}

/** A word in a colour. @param {string} text @param {"good" | "bad" | "warn" | "mine" | "plain"} [kind] */
export function badge(text, kind = "plain") {
  return html`<span class="badge ${kind}">${text}</span>`;
}

/** A sentence in a box. @param {"good" | "bad" | "warn" | "info"} kind @param {import("../core/html.mjs").View} body */
export function notice(kind, body) {
  return html`<div class="notice ${kind}" role=${kind === "bad" ? "alert" : nothing}>${body}</div>`;
}

/** The error of a request, and a button to try it again. @param {{message: string} | null | undefined} error @param {() => void} [again] */
export function problem(error, again) {
  if (!error) return nothing;
  return notice("bad", html`<span>${error.message}</span>
    ${again ? html`<button type="button" class="quiet" @click=${again}>${t("again")}</button>` : nothing}`);
}

/** That something is on its way. */
export function busy() {
  return html`<div class="busy" role="status"><span class="spinner" aria-hidden="true"></span>${t("loading")}…</div>`;
}

/** Copies text. @param {string} text @param {string} [label] what it copies, for screen readers */
export function copyButton(text, label = t("copy")) {
  return html`<button
    type="button"
    class="quiet copy"
    aria-label=${label}
    @click=${async () => {
      await navigator.clipboard.writeText(text);
      toast(t("copied"), "good");
    }}
  >${t("copy")}</button>`;
}

/**
 * The command and the HTTP call of an action, each to be copied; every action shows them.
 * @param {object} options
 * @param {string} options.command
 * @param {string} options.method
 * @param {string} options.path "/v1/leases"
 * @param {unknown} [options.body]
 */
export function how({ command, method, path, body }) {
  const request = curl(method, path, body);
  return html`<details class="how">
    <summary>${t("how")}</summary>
    <div class="how-line"><span class="muted">${t("command")}</span>${copyButton(command, `${t("copy")}: ${t("command")}`)}
      <pre tabindex="0">${command}</pre></div>
    <div class="how-line"><span class="muted">${t("call")}</span>${copyButton(request, `${t("copy")}: ${t("call")}`)}
      <pre tabindex="0">${method} ${path}${body === undefined ? "" : `\n${JSON.stringify(body, null, 2)}`}</pre></div>
  </details>`;
}
