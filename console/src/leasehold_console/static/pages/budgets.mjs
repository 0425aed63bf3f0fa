// Budgets: what is agreed of each and what is left; an administrator makes, changes and deletes them.

import { listen } from "../api/events.mjs";
import { call } from "../api/http.mjs";
import { change } from "../budgets/change.mjs";
import { parts, policyOf, short } from "../budgets/words.mjs";
import { badge, busy, how, problem, time } from "../components/parts.mjs";
import { removal } from "../components/removal.mjs";
import { table } from "../components/table.mjs";
import { html, nothing } from "../core/html.mjs";
import { loader } from "../core/loader.mjs";
import { administers, may } from "../core/session.mjs";
import { texts } from "../core/texts.mjs";
import catalogue from "../texts/en/budgets.mjs";

const t = texts(catalogue);

/** @typedef {import("../budgets/words.mjs").Budget} Budget */

/** @returns {import("../core/page.mjs").Page} */
export function open() {
  const all = administers();
  const list = loader(async (signal) => (await call("GET /v1/budgets", { query: all ? { all_projects: true } : {}, signal })).budgets);
  const reload = () => list.reload().catch(reportError);
  const [changing, removing] = [change(reload), removal(reload)];
  reload();
  // What is agreed changes with each lease.
  const stop = listen(reload);

  /** @param {Budget} budget */
  const remove = (budget) =>
    removing.ask(() => ({
      ...{ title: t("delete_title", { name: budget.name }), says: t("delete_says"), verb: t("delete"), keep: t("cancel"), done: t("deleted", { name: budget.name }) },
      ...{ command: `leasehold budget delete ${budget.id}`, path: `/v1/budgets/${budget.id}` },
      send: () => call("DELETE /v1/budgets/{budget_id}", { path: { budget_id: budget.id }, person: true }),
    }));

  return {
    title: () => t("title"),
    keys: [{ key: "r", says: t("read_again"), run: reload }],
    view: () => {
      const { value, error } = list.state.value;
      return html`<div class="page-head"><h1>${t("title")}</h1>
          <div class="actions">${may("leasehold:budgets:post") ? html`<button type="button" class="primary" @click=${() => changing.begin(null)}>${t("new")}</button>` : nothing}</div>
        </div>
        <p class="muted">${t("here")}</p>
        ${problem(error, reload)}
        ${value ? table({ caption: t("title"), columns: columns(all, changing.begin, remove), rows: value, key: (each) => each.id, empty: t("empty") }) : error ? nothing : busy()}
        ${how({ command: `leasehold budget list${all ? " --all-projects" : ""}`, method: "GET", path: `/v1/budgets${all ? "?all_projects=true" : ""}` })}
        ${changing.view()} ${removing.view()}`;
    },
    close: () => {
      stop();
      list.close();
    },
  };
}

/** @param {boolean} all @param {(budget: Budget) => void} begin @param {(budget: Budget) => void} remove @returns {import("../components/table.mjs").Column<Budget>[]} */
function columns(all, begin, remove) {
  /** @param {"amount" | "encumbered" | "charged"} name */
  const amount = (name) => ({ title: t(name), number: true, wide: true, cell: (/** @type {Budget} */ each) => short(each[name]) });
  return [
    { title: t("name"), head: true, cell: (each) => html`<span class="anywhere">${each.name}</span> ${each.user_id ? badge(each.user_id) : nothing}` },
    ...(all ? [{ title: t("project"), cell: (/** @type {Budget} */ each) => each.project_id, wide: true }] : []),
    { title: t("left"), number: true, whole: true, cell: (each) => html`${short(each.left)} ${each.unit}<div>${bar(each)}</div>` },
    ...[amount("amount"), amount("encumbered"), amount("charged")],
    { title: t("until"), cell: (each) => time(each.end_date) },
    { title: t("at_end"), cell: (each) => t(`at_end_${policyOf(each.at_end)}`), wide: true },
    {
      title: "",
      cell: (each) => html`
        ${may("leasehold:budgets:put") ? html`<button type="button" class="quiet" aria-label=${t("change_title", { name: each.name })} @click=${() => begin(each)}>${t("change")}</button>` : nothing}
        ${may("leasehold:budgets:delete") ? html`<button type="button" class="quiet" aria-label=${t("delete_title", { name: each.name })} @click=${() => remove(each)}>${t("delete")}</button>` : nothing}`,
    },
  ];
}

/** How much is agreed; from four fifths on it warns. @param {Budget} budget */
function bar(budget) {
  const { charged, agreed } = parts(budget);
  const says = t("bar", { agreed: Math.round(100 * agreed), charged: Math.round(100 * charged) });
  return html`<meter min="0" max="1" low="0.8" high="1" optimum="0" value=${agreed} aria-label=${says} title=${says}></meter>`;
}
