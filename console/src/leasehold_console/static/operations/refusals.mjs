// Refused requests by reason, and how many resources more would have granted them.

import { call } from "../api/http.mjs";
import { how, problem } from "../components/parts.mjs";
import { table } from "../components/table.mjs";
import { html, nothing } from "../core/html.mjs";
import { loader } from "../core/loader.mjs";
import { texts } from "../core/texts.mjs";
import catalogue from "../texts/en/operations.mjs";
import { byReason, wouldHaveGranted } from "./words.mjs";

const t = texts(catalogue);
/** The service counts what misses more as missing so many. */
const MOST_MISSING = 1000;

export function refusals() {
  const list = loader(async (abort) => (await call("GET /v1/refusals", { signal: abort })).refusals);
  return {
    reload: () => list.reload(),
    close: list.close,
    view: () => {
      const { value, error } = list.state.value;
      return html`<section class="card">
        <h2>${t("refusals")}</h2>
        ${problem(error)} ${value ? reasons(byReason(value)) : nothing} ${value ? wouldHaveGranted(value).map(more) : nothing}
        ${how({ command: "leasehold refusal list", method: "GET", path: "/v1/refusals" })}
      </section>`;
    },
  };
}

/** @param {ReturnType<typeof byReason>} rows */
function reasons(rows) {
  const all = rows.reduce((sum, each) => sum + each.refused, 0);
  return table({
    caption: t("refusals"),
    columns: [
      { title: t("reason"), head: true, cell: (each) => html`<code class="anywhere">${each.code}</code>` },
      { title: t("kind"), cell: (each) => each.kind || "–", wide: true },
      { title: t("refused"), number: true, cell: (each) => each.refused },
      { title: t("of_all"), cell: (each) => bar(each.refused, all) },
    ],
    rows,
    key: (each) => each.key,
    empty: t("refusals_empty"),
  });
}

/** @param {ReturnType<typeof wouldHaveGranted>[number]} sums */
function more({ kind, all, steps }) {
  return html`<h3 class="apart">${t("more")}</h3>
    <p class="muted">${t("more_hint")}</p>
    ${table({
      caption: `${t("more")}: ${kind}`,
      columns: [
        {
          title: t("more_count", { type: kind }),
          head: true,
          cell: (each) => (each.missing >= MOST_MISSING ? t("more_at_least", { count: each.missing }) : `+ ${each.missing}`),
        },
        { title: t("granted"), cell: (each) => t("share", { count: each.granted, all }) },
        { title: t("of_all"), cell: (each) => bar(each.granted, all) },
      ],
      rows: steps,
      key: (each) => each.missing,
    })}`;
}

/** @param {number} part @param {number} all */
function bar(part, all) {
  return html`<progress class="share" max=${all} value=${part} aria-label=${t("share", { count: part, all })}></progress>`;
}
