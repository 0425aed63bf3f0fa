// The sign-in, over whatever is on the page, so that nothing typed is lost.

import { signal } from "../vendor/signals-core/signals-core.mjs";
import { ApiError, sessionEnded } from "../api/http.mjs";
import { html, nothing, repeat } from "../core/html.mjs";
import { again, enter, session, signIn } from "../core/session.mjs";
import { texts } from "../core/texts.mjs";
import shell from "../texts/en/shell.mjs";
import { dialog } from "./dialog.mjs";
import { selectField, textField } from "./field.mjs";
import { notice } from "./parts.mjs";

const t = texts(shell);

/**
 * The fields of each method, and what is sent for it.
 * @type {Record<string, {fields: readonly string[], body: (given: Record<string, string>) => Record<string, unknown>}>}
 */
const METHODS = {
  password: {
    fields: ["user", "password", "new_password", "domain", "project_optional"],
    body: ({ project_optional: project, ...way }) => ({ password: kept({ ...way, project }) }),
  },
  application_credential: {
    fields: ["credential_id", "credential_secret"],
    body: ({ credential_id: id, credential_secret: secret }) => ({ application_credential: { id, secret } }),
  },
  token: {
    fields: ["token", "project_optional"],
    body: ({ token, project_optional: project }) => ({ token: kept({ token, project }) }),
  },
  act_as: {
    fields: ["user", "project", "roles"],
    body: ({ user, project, roles = "" }) => ({
      act_as: { user, project, roles: roles.split(",").map((role) => role.trim()).filter(Boolean) },
    }),
  },
};
const SECRET = new Set(["password", "new_password", "credential_secret", "token"]);
const COMPLETE = /** @type {const} */ ({ user: "username", password: "current-password", new_password: "new-password", passcode: "one-time-code" });
const EXPIRED = "leasehold.session.password_expired";

/** Without the keys that are empty. @param {Record<string, string | undefined>} given */
function kept(given) {
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value));
}

const method = signal("");
/** @type {import("../vendor/signals-core/signals-core.mjs").Signal<Record<string, string>>} */
const given = signal(/** @type {Record<string, string>} */ ({}));
/** @type {import("../vendor/signals-core/signals-core.mjs").Signal<import("../core/session.mjs").SecondFactor | null>} */
const second = signal(/** @type {import("../core/session.mjs").SecondFactor | null} */ (null));
/** @type {import("../vendor/signals-core/signals-core.mjs").Signal<ApiError | null>} */
const error = signal(/** @type {ApiError | null} */ (null));
/** Whether the password has to be changed. */
const expired = signal(false);
const busy = signal(false);

/** @param {string} name @param {import("../core/session.mjs").SignIn} offer */
function first(name, offer) {
  const acting = offer.act_as;
  if (name === "domain") return offer.domain ?? "";
  if (acting && name === "user") return acting.user;
  if (acting && name === "project") return acting.project;
  if (acting && name === "roles") return acting.roles.join(", ");
  return "";
}

/** @param {string} chosen @param {import("../core/session.mjs").SignIn} offer */
async function submit(chosen, offer) {
  const way = METHODS[chosen];
  if (!way || busy.peek()) return;
  const factor = second.peek();
  const values = Object.fromEntries(way.fields.map((name) => [name, given.peek()[name] ?? first(name, offer)]));
  const body = factor
    ? { totp: kept({ receipt: factor.receipt, user_id: factor.user_id, passcode: given.peek().passcode, project: values.project_optional }) }
    : way.body(values);
  busy.value = true;
  error.value = null;
  try {
    second.value = await enter(body);
    if (!second.peek()) given.value = {};
    else if (expired.peek()) given.value = { ...given.peek(), password: given.peek().new_password ?? "", new_password: "" };
    expired.value = false;
  } catch (problem) {
    if (!(problem instanceof ApiError)) throw problem;
    error.value = problem;
    if (problem.code === EXPIRED) expired.value = true;
  } finally {
    busy.value = false;
  }
}

/** @param {string} name @param {import("../core/session.mjs").SignIn} offer */
function isAsked(name, offer) {
  if (name === "new_password") return expired.value;
  return name !== "domain" || offer.domain !== null;
}

/** Gives the second factor up, whose time may be over, and asks for the first one again. */
function restart() {
  second.value = null;
  error.value = null;
  const { passcode: _passcode, ...kept } = given.peek();
  given.value = kept;
}

/** The dialog, or nothing where the service has not said how one signs in. */
export function signInDialog() {
  const offer = signIn.value;
  if (!offer) return nothing;
  const chosen = method.value || offer.methods[0] || "";
  const way = METHODS[chosen];
  const fields = second.value ? ["passcode"] : (way?.fields ?? []).filter((name) => isAsked(name, offer));
  const wrong = error.value;
  const why = sessionEnded.value;
  return dialog({
    name: "sign-in",
    title: t("sign_in_title"),
    ...(session.value ? { close: () => (again.value = false) } : {}),
    submit: () => submit(chosen, offer),
    body: html`
      ${why === "idle" || why === "expired" ? notice("info", t(`ended_${why}`)) : nothing}
      ${new URLSearchParams(location.search).has("refused") ? notice("bad", t("refused_websso")) : nothing}
      ${chosen === "act_as" ? html`<p class="muted">${t("act_as_hint")}</p>` : nothing}
      ${offer.methods.length > 1 && !second.value ? selectField({
        name: "method",
        label: t("sign_in"),
        value: chosen,
        change: (value) => (method.value = value),
        options: offer.methods.map((each) => [each, t(/** @type {"method_password"} */ (`method_${each}`))]),
      }) : nothing}
      ${repeat(fields, (name) => name, (name, index) => textField({
        name,
        label: t(/** @type {"user"} */ (name)),
        type: SECRET.has(name) ? "password" : "text",
        autocomplete: COMPLETE[/** @type {keyof typeof COMPLETE} */ (name)] ?? "off",
        autofocus: index === 0,
        value: given.value[name] ?? first(name, offer),
        input: (value) => (given.value = { ...given.peek(), [name]: value }),
        ...(wrong?.field === name ? { error: wrong.message } : {}),
      }))}
      ${wrong && !fields.includes(wrong.field ?? "") ? notice("bad", wrong.message) : nothing}
      ${offer.websso.map((each) => html`<p><a href=${each.href}>${t("or_with", { name: each.name })}</a></p>`)}
    `,
    actions: html`<button type="submit" class="primary" ?disabled=${busy.value}>${second.value ? t("continue") : t("sign_in")}</button>
      ${second.value ? html`<button type="button" class="quiet" ?disabled=${busy.value} @click=${restart}>${t("begin_again")}</button>` : nothing}`,
  });
}
