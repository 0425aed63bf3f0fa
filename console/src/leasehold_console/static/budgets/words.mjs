// A budget as the page says it, and what is asked for from what was typed. Pure.

import { quoted } from "../core/command.mjs";
import { fromLocal, iso } from "../core/time.mjs";

/** @typedef {import("../../../../types/api").BudgetAnswer} Budget */
/** @typedef {"run" | "warn" | "end"} Policy */
/** @typedef {{name: string, project: string, user: string, amount: string, start: string, end: string, policy: Policy}} Typed as the fields of the dialog have it */

export const POLICIES = /** @type {const} */ (["run", "warn", "end"]);

/** What becomes of leases at the end, as one of the words that are known here. @param {string} word @returns {Policy} */
export function policyOf(word) {
  return POLICIES.find((each) => each === word) ?? "run";
}

/** An amount without the zeros that say nothing: at least two decimals. @param {string} amount "1500.000000" */
export function short(amount) {
  return amount.replace(/(\.\d\d\d*?)0+$/, "$1");
}

/** Which parts of a budget, of 1, are charged and are agreed for a time ahead. @param {Budget} budget */
export function parts(budget) {
  const amount = Number(budget.amount);
  /** @param {string} part */
  const of = (part) => (amount > 0 ? Math.min(1, Number(part) / amount) : Number(Number(part) > 0));
  return { charged: of(budget.charged), agreed: of(budget.encumbered) };
}

/** @param {Typed} typed @param {string} zone @returns {import("../../../../types/api").BudgetCreation | null} null: something is missing */
export function creation(typed, zone) {
  const [start, end] = [fromLocal(typed.start, zone), fromLocal(typed.end, zone)];
  if (!(typed.name && typed.project && typed.amount && start < end)) return null;
  const { name, project: project_id, amount, policy: at_end } = typed;
  return { name, project_id, ...(typed.user ? { user_id: typed.user } : {}), amount, start_date: iso(start), end_date: iso(end), at_end };
}

/** What becomes another value; the end only if another minute was typed. @param {Typed} typed @param {Typed} before @param {string} zone @returns {import("../../../../types/api").BudgetAmendment | null} null: nothing */
export function amendment(typed, before, zone) {
  const end = fromLocal(typed.end, zone);
  const changes = {
    ...(typed.name !== before.name ? { name: typed.name } : {}),
    ...(typed.amount !== before.amount ? { amount: typed.amount } : {}),
    ...(typed.end !== before.end && !Number.isNaN(end) ? { end_date: iso(end) } : {}),
    ...(typed.policy !== before.policy ? { at_end: typed.policy } : {}),
  };
  return Object.keys(changes).length ? changes : null;
}

/** @param {import("../../../../types/api").BudgetCreation} body */
export function creating(body) {
  const whose = `--for-project ${quoted(body.project_id)}${body.user_id ? ` --for-user ${quoted(body.user_id)}` : ""}`;
  const dates = `--from ${body.start_date} --until ${body.end_date}`;
  return `leasehold budget create ${quoted(body.name)} ${whose} --amount ${quoted(body.amount)} ${dates} --at-end ${body.at_end ?? "run"}`;
}

/** @param {Budget} budget @param {import("../../../../types/api").BudgetAmendment} body */
export function amending(budget, body) {
  const words = [
    ...(body.name ? [`--name ${quoted(body.name)}`] : []),
    ...(body.amount ? [`--amount ${quoted(body.amount)}`] : []),
    ...(body.end_date ? [`--until ${body.end_date}`] : []),
    ...(body.at_end ? [`--at-end ${body.at_end}`] : []),
  ];
  return `leasehold budget set ${budget.id} ${words.join(" ")}`;
}
