// The audit: what the last round has found, what a repair does, and a round on request.

import { signal } from "../vendor/signals-core/signals-core.mjs";
import { ApiError, call } from "../api/http.mjs";
import { how, notice, problem, time } from "../components/parts.mjs";
import { table } from "../components/table.mjs";
import { toast } from "../components/toast.mjs";
import { html, nothing } from "../core/html.mjs";
import { loader } from "../core/loader.mjs";
import { may } from "../core/session.mjs";
import { texts } from "../core/texts.mjs";
import catalogue from "../texts/en/operations.mjs";

const t = texts(catalogue);
const LOOK_AGAIN = 3000;

/** @typedef {import("../../../../types/api").AuditAnswer} Audit */
/** @typedef {import("../../../../types/api").FindingAnswer} Finding */

export function audit() {
  const report = loader(async (abort) => (await call("GET /v1/audit", { signal: abort })).audit);
  /** The end of the round before the one that was asked for; undefined: none is awaited. */
  const before = signal(/** @type {string | null | undefined} */ (undefined));
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let timer;

  async function reload() {
    clearTimeout(timer);
    await report.reload();
    const last = report.state.peek().value;
    if (before.peek() !== undefined && last && last.ended_at !== before.peek() && !last.under_way) before.value = undefined;
    if (before.peek() !== undefined || last?.under_way) timer = setTimeout(again, LOOK_AGAIN);
  }
  const again = () => reload().catch(reportError);

  async function ask() {
    try {
      const { audit: last } = await call("POST /v1/audit", { person: true });
      before.value = last.ended_at;
      toast(t("audit_asked"), "good");
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      toast(error.message, "bad");
    }
    await reload();
  }

  return {
    reload,
    close: () => {
      clearTimeout(timer);
      report.close();
    },
    view: () => {
      const { value, error } = report.state.value;
      return html`<section class="card">
        <h2>${t("audit")}</h2>
        ${problem(error, again)} ${value ? shown(value, before.value !== undefined, () => ask().catch(reportError)) : nothing}
        ${how({ command: "leasehold audit start", method: "POST", path: "/v1/audit" })}
      </section>`;
    },
  };
}

/** @param {Audit} last @param {boolean} awaited @param {() => void} ask */
function shown(last, awaited, ask) {
  const off = last.interval_seconds === 0;
  const running = last.under_way || awaited;
  return html`
    <p>
      ${last.ended_at ? html`${t("audit_last")} ${time(last.ended_at)}` : t("audit_never")}
      ${running ? html`<strong role="status">${t(last.under_way ? "audit_running" : "audit_asked")}</strong>` : nothing}
    </p>
    ${last.failure ? notice("bad", t("audit_failure", { why: last.failure })) : nothing} ${off ? notice("warn", t("audit_off")) : nothing}
    ${may("leasehold:audit:post")
      ? html`<div class="actions"><button type="button" ?disabled=${off || running} @click=${ask}>${t("audit_ask")}</button></div>`
      : nothing}
    ${table({
      caption: t("audit"),
      columns,
      rows: last.findings,
      key: (each) => `${each.kind} ${each.subject} ${each.what}`,
      empty: last.ended_at && !last.failure ? t("audit_clean") : t("audit_none"),
    })}
  `;
}

/** @type {import("../components/table.mjs").Column<Finding>[]} */
const columns = [
  { title: t("subject"), head: true, cell: (each) => each.subject },
  { title: t("finding"), cell: (each) => html`${each.what} <span class="muted">(${each.kind})</span>` },
  { title: t("then"), cell: (each) => each.repair ?? each.remedy },
  { title: t("done"), cell: (each) => each.repaired ?? "–" },
  { title: t("found_at"), cell: (each) => time(each.found_at), wide: true },
];
