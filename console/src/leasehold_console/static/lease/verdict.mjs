// What the service would do with a request: asked while one types, by a dry run that leaves no trace.

import { signal } from "../vendor/signals-core/signals-core.mjs";
import { ApiError, call } from "../api/http.mjs";
import { notice } from "../components/parts.mjs";
import { html, nothing } from "../core/html.mjs";
import { zone } from "../core/settings.mjs";
import { texts } from "../core/texts.mjs";
import { MINUTE, brief, parse, span } from "../core/time.mjs";
import catalogue from "../texts/en/newlease.mjs";
import { counterOffers } from "./form.mjs";
import { asked, counted } from "./words.mjs";

const t = texts(catalogue);
const PAUSE = 350;

/** @typedef {import("./form.mjs").CounterOffer} CounterOffer */
/** @typedef {{reservation_id: string, resource_type: string, resources: readonly {name: string | null, resource_type: string}[]}} Held */
/** @typedef {import("./form.mjs").Cost} Cost */
/** @typedef {{busy: boolean, granted: readonly Held[] | null, starts?: string, cost?: Cost | undefined, refused: ApiError | null}} State `starts` where that may be later than asked for */

export function verdict() {
  /** @type {import("../vendor/signals-core/signals-core.mjs").Signal<State>} */
  const state = signal(/** @type {State} */ ({ busy: false, granted: null, refused: null }));
  let timer = 0;
  let current = new AbortController();

  /** @param {Record<string, unknown> | null} request null: it is not complete */
  function ask(request) {
    clearTimeout(timer);
    current.abort();
    state.value = { ...state.peek(), busy: request !== null };
    if (request === null) state.value = { busy: false, granted: null, refused: null };
    else timer = setTimeout(() => run(request).catch(reportError), PAUSE);
  }

  /** @param {Record<string, unknown>} request */
  async function run(request) {
    const mine = (current = new AbortController());
    const body = /** @type {import("../../../../types/api").LeaseCreation} */ (/** @type {unknown} */ ({ ...request, dry_run: true }));
    try {
      const found = /** @type {{lease: {start_date: string, cost?: {total: string | null, unit: string}}, reservations?: Held[]}} */ (/** @type {unknown} */ (await call("POST /v1/leases", { body, signal: mine.signal })));
      const starts = request["ready_within_seconds"] ? { starts: found.lease.start_date } : {};
      const { total = null, unit = "" } = found.lease.cost ?? {};
      const cost = total === null ? {} : { cost: { total, unit } };
      if (!mine.signal.aborted) state.value = { busy: false, granted: found.reservations ?? [], ...starts, ...cost, refused: null };
    } catch (error) {
      if (mine.signal.aborted) return;
      if (!(error instanceof ApiError)) throw error;
      state.value = { busy: false, granted: null, refused: error };
    }
  }

  return {
    state,
    ask,
    close: () => {
      clearTimeout(timer);
      current.abort();
    },
    /** @param {(offer: CounterOffer) => void} take */
    view: (take) => {
      const { busy, granted, starts = "", cost, refused } = state.value;
      if (granted) return grantedView(granted, starts, cost, busy);
      if (refused) return refusedView(refused, busy, take);
      return html`<p class="muted">${busy ? `${t("asking")}…` : t("incomplete")}</p>`;
    },
  };
}

/** @param {readonly Held[]} granted @param {string} starts @param {Cost | undefined} cost @param {boolean} busy */
function grantedView(granted, starts, cost, busy) {
  return html`<div class=${busy ? "stale" : ""}>
    ${notice("good", html`<span><strong>${t("granted")}</strong> ${starts ? t("starts", { when: brief(parse(starts), zone.value) }) : nothing} ${cost ? t("costs", { ...cost }) : nothing}</span>`)}
    <p class="muted">${t("gets")}</p>
    <ul>
      ${granted.map(({ resource_type: type, resources }) => {
        const names = resources.map((each) => each.name).filter(Boolean).join(", ");
        return html`<li>${counted(type, resources.length)}${names ? html` <span class="muted">${names}</span>` : nothing}</li>`;
      })}
    </ul>
  </div>`;
}

/** @param {ApiError} refused @param {boolean} busy @param {(offer: CounterOffer) => void} take */
function refusedView(refused, busy, take) {
  const offers = counterOffers(refused.details);
  const left = /** @type {{filter: string, resources: number}[]} */ (refused.details["remaining"] ?? []);
  return html`<div class=${busy ? "stale" : ""}>
    ${notice("warn", html`<span><strong>${t("refused")}</strong> ${refused.message}</span>`)}
    ${left.length
      ? html`<p class="muted">${t("matches")}</p>
          <ol class="funnel">${left.map(({ filter, resources }) => html`<li><strong>${resources}</strong> ${filter}</li>`)}</ol>`
      : nothing}
    ${offers.length
      ? html`<p class="muted">${t("others")}</p>
          <div class="offers">${offers.map((offer) => html`<button type="button" @click=${() => take(offer)}>${offerText(offer)}</button>`)}</div>`
      : nothing}
  </div>`;
}

/** @param {CounterOffer} offer */
function offerText(offer) {
  const words = offerWords(offer);
  return offer.cost ? t("take_costing", { words, ...offer.cost }) : words;
}

/** @param {CounterOffer} offer */
function offerWords({ kind, start = 0, end = 0, type = "", count = 0, within = 0 }) {
  if (kind === "within") return t("take_within", { minutes: Math.ceil((within * 1000) / MINUTE) });
  if (kind === "window") return t("take_window", { when: brief(start, zone.value), span: span(end - start) });
  return t("take_fewer", { what: asked({ resource_type: type, amount: count }) });
}
