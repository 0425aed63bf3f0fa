// The dialog in which an administrator makes a budget or changes one.

import { signal } from "../vendor/signals-core/signals-core.mjs";
import { ApiError, call } from "../api/http.mjs";
import { dialog } from "../components/dialog.mjs";
import { selectField, textField } from "../components/field.mjs";
import { how, notice } from "../components/parts.mjs";
import { toast } from "../components/toast.mjs";
import { html, nothing } from "../core/html.mjs";
import { session } from "../core/session.mjs";
import { zone } from "../core/settings.mjs";
import { texts } from "../core/texts.mjs";
import { parse, toLocal } from "../core/time.mjs";
import catalogue from "../texts/en/budgets.mjs";
import { POLICIES, amending, amendment, creating, creation, policyOf, short } from "./words.mjs";

const t = texts(catalogue);
const MONTH = 30 * 24 * 3600 * 1000;

/** @typedef {import("./words.mjs").Budget} Budget */
/** @typedef {import("./words.mjs").Typed} Typed */

/** @param {() => void} again reads the budgets anew */
export function change(again) {
  const asked = signal(/** @type {{budget: Budget | null, before: Typed} | null} */ (null));
  const typed = signal(blank());
  const wrong = signal("");

  /** @param {Budget | null} budget null: a new one */
  function begin(budget) {
    typed.value = budget ? of(budget) : blank();
    [wrong.value, asked.value] = ["", { budget, before: typed.peek() }];
  }

  /** @param {Budget | null} budget @param {Typed} before */
  async function send(budget, before) {
    try {
      if (budget) {
        const body = amendment(typed.peek(), before, zone.peek());
        if (body) await call("PUT /v1/budgets/{budget_id}", { path: { budget_id: budget.id }, body, person: true });
      } else {
        const body = creation(typed.peek(), zone.peek());
        if (!body) throw new ApiError(t("incomplete"));
        await call("POST /v1/budgets", { body, person: true });
      }
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      wrong.value = error.message;
      return;
    }
    toast(t(budget ? "changed" : "made", { name: typed.peek().name }), "good");
    asked.value = null;
    again();
  }

  return {
    begin,
    view: () => {
      const one = asked.value;
      if (!one) return nothing;
      return dialog({
        name: "budget",
        title: one.budget ? t("change_title", { name: one.budget.name }) : t("new"),
        close: () => (asked.value = null),
        submit: () => send(one.budget, one.before).catch(reportError),
        body: html`${wrong.value ? notice("bad", wrong.value) : nothing} ${fields(typed, one.budget)} ${shown(typed.value, one)}`,
        actions: html`<button type="submit" class="primary">${t(one.budget ? "save" : "make")}</button>
          <button type="button" @click=${() => (asked.value = null)}>${t("cancel")}</button>`,
      });
    },
  };
}

/** @returns {Typed} */
function blank() {
  const [now, project] = [Date.now(), session.peek()?.project.id ?? ""];
  return { name: "", project, user: "", amount: "", start: toLocal(now, zone.peek()), end: toLocal(now + MONTH, zone.peek()), policy: "run" };
}

/** @param {Budget} budget @returns {Typed} */
function of(budget) {
  /** @param {string} date */
  const local = (date) => toLocal(parse(date), zone.peek());
  return {
    ...{ name: budget.name, project: budget.project_id, user: budget.user_id ?? "", amount: short(budget.amount) },
    ...{ start: local(budget.start_date), end: local(budget.end_date), policy: policyOf(budget.at_end) },
  };
}

/** @param {import("../vendor/signals-core/signals-core.mjs").Signal<Typed>} typed @param {Budget | null} budget */
function fields(typed, budget) {
  const now = typed.value;
  /** @param {keyof Typed} key @param {string} label @param {{hint?: string, type?: string}} [more] */
  const text = (key, label, more = {}) =>
    textField({ name: key, label, value: now[key], input: (value) => (typed.value = { ...typed.peek(), [key]: value }), ...more });
  return html`${text("name", t("name"))}
    ${budget ? nothing : html`<div class="fields">${text("project", t("project"))} ${text("user", t("user"), { hint: t("user_hint") })}</div>`}
    ${text("amount", t("amount"), { hint: t("amount_hint") })}
    <div class="fields">
      ${budget ? nothing : text("start", t("from"), { type: "datetime-local" })} ${text("end", t("until"), { type: "datetime-local" })}
    </div>
    ${selectField({
      ...{ name: "policy", label: t("at_end"), value: now.policy, options: POLICIES.map((each) => /** @type {const} */ ([each, t(`at_end_${each}`)])) },
      change: (word) => (typed.value = { ...typed.peek(), policy: policyOf(word) }),
    })}`;
}

/** @param {Typed} typed @param {{budget: Budget | null, before: Typed}} one */
function shown(typed, { budget, before }) {
  if (!budget) {
    const body = creation(typed, zone.value);
    return body ? how({ command: creating(body), method: "POST", path: "/v1/budgets", body }) : nothing;
  }
  const body = amendment(typed, before, zone.value);
  return body ? how({ command: amending(budget, body), method: "PUT", path: `/v1/budgets/${budget.id}`, body }) : nothing;
}
