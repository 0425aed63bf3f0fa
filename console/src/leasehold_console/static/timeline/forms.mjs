// The forms of the timeline: a new lease from a draft, and another end of a lease. Each is tried (dry run) as it is typed.

import { signal } from "../vendor/signals-core/signals-core.mjs";
import { ApiError, call } from "../api/http.mjs";
import { dialog } from "../components/dialog.mjs";
import { selectField, textField } from "../components/field.mjs";
import { how, notice } from "../components/parts.mjs";
import { toast } from "../components/toast.mjs";
import { html, nothing } from "../core/html.mjs";
import { href } from "../core/router.mjs";
import { zone } from "../core/settings.mjs";
import { texts } from "../core/texts.mjs";
import * as time from "../core/time.mjs";
import { leads } from "../pages/index.mjs";
import catalogue from "../texts/en/timeline.mjs";
import { nameOf, stopText } from "./describe.mjs";
import { areNamed, conditionLike, conditionOfFilter, conditionThese, createCommand, extendCommand, leaseBody } from "./request.mjs";

/** @typedef {import("./model.mjs").Model} Model */
/** @typedef {{kind: "trying"} | {kind: "fits"} | {kind: "refused", error: ApiError}} Verdict */
/**
 * @typedef {object} NewLease
 * @property {"new"} form
 * @property {Model} model
 * @property {number[]} rows
 * @property {string} name
 * @property {string} start as typed, in the zone
 * @property {string} end
 * @property {string} count
 * @property {import("./request.mjs").Which} which
 * @property {Record<string, string[]>} filter
 * @property {import("./draft.mjs").Stop | null} stop
 *
 * @typedef {object} NewEnd
 * @property {"end"} form
 * @property {import("./model.mjs").LeaseRow} lease
 * @property {string} end
 * @property {import("./draft.mjs").Stop | null} stop
 */

const t = texts(catalogue);
const SETTLE = 350;

/** @param {() => void} done reads the picture anew */
export function forms(done) {
  const form = signal(/** @type {NewLease | NewEnd | null} */ (null));
  const verdict = signal(/** @type {Verdict} */ ({ kind: "trying" }));
  const busy = signal(false);
  /** One key for one wish: a request that is sent again makes no second lease. */
  let key = "";
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let waiting;
  let trying = new AbortController();

  /** @param {NewLease | NewEnd} next @param {number} [pause] */
  function change(next, pause = SETTLE) {
    form.value = next;
    verdict.value = { kind: "trying" };
    key = crypto.randomUUID();
    clearTimeout(waiting);
    waiting = setTimeout(() => tryOut(next).catch(reportError), pause);
  }

  function close() {
    clearTimeout(waiting);
    trying.abort();
    form.value = null;
  }

  /** @param {NewLease | NewEnd} wish */
  async function tryOut(wish) {
    trying.abort();
    const { signal: mine } = (trying = new AbortController());
    try {
      await ask(wish, true, mine);
      if (!mine.aborted) verdict.value = { kind: "fits" };
    } catch (error) {
      if (mine.aborted) return;
      if (!(error instanceof ApiError)) throw error;
      verdict.value = { kind: "refused", error };
    }
  }

  /** @param {NewLease | NewEnd} wish @param {boolean} dry @param {AbortSignal} [mine] */
  function ask(wish, dry, mine) {
    const extras = { person: true, ...(mine ? { signal: mine } : {}), ...(dry ? {} : { headers: { "Idempotency-Key": key } }) };
    if (wish.form === "new") return call("POST /v1/leases", { ...extras, body: { ...leaseBody(wantedOf(wish)), dry_run: dry } });
    return call("PUT /v1/leases/{lease_id}", { ...extras, path: { lease_id: wish.lease.id }, body: { end_date: time.iso(momentOf(wish.end) * 1000), dry_run: dry } });
  }

  async function submit() {
    const wish = form.peek();
    if (!wish || busy.peek()) return;
    busy.value = true;
    clearTimeout(waiting);
    trying.abort();
    try {
      const { lease } = await ask(wish, false);
      close();
      const path = `leases/${encodeURIComponent(lease.id)}`;
      const link = leads(path) ? html`<a href=${href(path)}>${t("show_it")}</a>` : nothing;
      toast(html`${t(wish.form === "new" ? "made" : "ends_now", { name: lease.name })} ${link}`, "good");
      done();
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      verdict.value = { kind: "refused", error };
    } finally {
      busy.value = false;
    }
  }

  return {
    close,
    /** @param {Model} model @param {import("./draft.mjs").Draft} draft @param {Record<string, string[]>} filter */
    draft(model, draft, filter) {
      change({
        form: "new",
        model,
        rows: draft.rows,
        name: "",
        start: typed(draft.start),
        end: typed(draft.end),
        count: String(draft.rows.length),
        which: areNamed(model, draft.rows) ? "these" : "like",
        filter,
        stop: draft.stop,
      }, 0);
    },
    /** @param {Model} model @param {number} lease @param {number} end @param {import("./draft.mjs").Stop | null} stop */
    extend(model, lease, end, stop) {
      const found = model.leases[lease];
      if (found) change({ form: "end", lease: found, end: typed(end), stop }, 0);
    },
    view() {
      const wish = form.value;
      if (!wish) return nothing;
      return wish.form === "new" ? newLease(wish) : newEnd(wish);
    },
  };

  /** @param {NewLease} wish */
  function newLease(wish) {
    const { model, rows } = wish;
    const wanted = wantedOf(wish);
    /** @type {[string, string][]} */
    const choices = [
      ...(areNamed(model, rows) ? [/** @type {[string, string]} */ (["these", rows.map((row) => nameOf(model, row)).join(", ")])] : []),
      ["like", t("which_like")],
      ["any", Object.keys(wish.filter).length ? t("which_filter") : t("which_any")],
    ];
    return dialog({
      name: "draft",
      title: t("new_lease"),
      close,
      submit,
      body: html`
        ${textField({ name: "name", label: t("name"), value: wish.name, placeholder: wanted.name, autofocus: true, error: errorAt("name"), input: (name) => change({ ...wish, name }) })}
        ${span(wish)}
        <div class="fields">
          ${textField({ name: "count", label: t("how_many"), type: "number", min: "1", value: wish.count, input: (count) => change({ ...wish, count }) })}
          ${selectField({ name: "which", label: t("which"), value: wish.which, options: choices, change: (which) => change({ ...wish, which: /** @type {import("./request.mjs").Which} */ (which) }) })}
        </div>
        ${verdictView(wish)}
        ${how({ command: createCommand(wanted), method: "POST", path: "/v1/leases", body: leaseBody(wanted) })}
      `,
      actions: html`<button type="submit" class="primary" ?disabled=${busy.value || verdict.value.kind !== "fits"}>${t("create")}</button>
        <button type="button" @click=${close}>${t("cancel")}</button>`,
    });
  }

  /** @param {NewLease} wish */
  function span(wish) {
    const length = momentOf(wish.end) - momentOf(wish.start);
    return html`<div class="fields">
        ${textField({ name: "start", label: t("start"), type: "datetime-local", value: wish.start, error: errorAt("start_date"), input: (start) => change({ ...wish, start, stop: null }) })}
        ${textField({ name: "end", label: t("end"), type: "datetime-local", value: wish.end, error: errorAt("end_date"), input: (end) => change({ ...wish, end, stop: null }) })}
      </div>
      <p class="muted">${length > 0 ? t("lasts", { span: time.span(length * 1000), zone: zone.value }) : t("ends_before")} ${stopText(wish.stop)}</p>`;
  }

  /** @param {NewEnd} wish */
  function newEnd(wish) {
    const { lease } = wish;
    const end = momentOf(wish.end);
    const moved = lease.end === null || !Number.isFinite(end) ? "" : t(end >= lease.end ? "change_later" : "change_earlier", { span: time.span((end - lease.end) * 1000) });
    return dialog({
      name: "extend",
      title: t("extend_title", { name: lease.name ?? lease.id }),
      close,
      submit,
      body: html`
        ${textField({ name: "end", label: t("end"), type: "datetime-local", value: wish.end, autofocus: true, error: errorAt("end_date"), input: (text) => change({ ...wish, end: text, stop: null }) })}
        <p class="muted">${moved} ${stopText(wish.stop)}</p>
        ${verdictView(wish)}
        ${Number.isFinite(end) ? how({ command: extendCommand(lease.id, end), method: "PUT", path: `/v1/leases/${lease.id}`, body: { end_date: time.iso(end * 1000) } }) : nothing}
      `,
      actions: html`<button type="submit" class="primary" ?disabled=${busy.value || verdict.value.kind !== "fits"}>${t("set_end")}</button>
        <button type="button" @click=${close}>${t("cancel")}</button>`,
    });
  }

  /** The error of a field, where the refusal is about it. @param {string} field */
  function errorAt(field) {
    const said = verdict.value;
    return said.kind === "refused" && said.error.field === field ? said.error.message : "";
  }

  /** Whether it fits; if not, why, and what would: each offer is a button. @param {NewLease | NewEnd} wish */
  function verdictView(wish) {
    const said = verdict.value;
    if (said.kind === "trying") return html`<div class="notice" role="status"><span class="spinner" aria-hidden="true"></span>${t("trying")}</div>`;
    if (said.kind === "fits") return html`<div role="status">${notice("good", t("fits"))}</div>`;
    if (["name", "start_date", "end_date"].includes(said.error.field)) return nothing;
    return html`${notice("bad", said.error.message)} ${offers(wish, said.error.details)}`;
  }

  /** @param {NewLease | NewEnd} wish @param {Record<string, any>} details */
  function offers(wish, details) {
    /** @type {[string, NewLease | NewEnd][]} */
    const found = [];
    if (wish.form === "new" && details.nearest) {
      const [start, end] = [time.parse(details.nearest.start), time.parse(details.nearest.end)];
      found.push([t("offer_window", { start: time.brief(start, zone.value), end: time.brief(end, zone.value) }), { ...wish, start: typed(start / 1000), end: typed(end / 1000), stop: null }]);
    }
    if (wish.form === "new" && details.largest > 0 && details.largest < Number(wish.count)) {
      found.push([t("offer_amount", { count: details.largest }), { ...wish, count: String(details.largest) }]);
    }
    if (wish.form === "new" && wish.which !== "any") found.push([t("offer_any"), { ...wish, which: "any" }]);
    if (wish.form === "end" && details.latest_end) {
      const latest = time.parse(details.latest_end);
      found.push([t("offer_end", { end: time.brief(latest, zone.value) }), { ...wish, end: typed(latest / 1000), stop: null }]);
    }
    return html`<div class="actions">${found.map(([text, next]) => html`<button type="button" @click=${() => change(next, 0)}>${text}</button>`)}</div>`;
  }
}

/** @param {number} moment seconds */
function typed(moment) {
  return time.toLocal(moment * 1000, zone.peek());
}

/** @param {string} text @returns {number} seconds; NaN while it is not complete */
function momentOf(text) {
  return time.fromLocal(text, zone.peek()) / 1000;
}

/** @param {NewLease} wish @returns {import("./request.mjs").Wanted} */
function wantedOf(wish) {
  const { model, rows } = wish;
  const [start, end] = [momentOf(wish.start), momentOf(wish.end)];
  const condition = wish.which === "these" ? conditionThese(model, rows) : wish.which === "like" ? conditionLike(model, rows) : conditionOfFilter(wish.filter);
  return {
    name: wish.name.trim() || `lease-${wish.start.replace(/[^\d]/g, "").slice(2)}`,
    start: Number.isFinite(start) ? start : 0,
    end: Number.isFinite(end) ? end : 0,
    count: Math.max(1, Math.floor(Number(wish.count)) || 1),
    condition,
  };
}
