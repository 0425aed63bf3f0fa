// A lease is asked for here: the service answers while one types, and each counter-offer of a refusal is a button.

import { signal } from "../vendor/signals-core/signals-core.mjs";
import { ApiError, call } from "../api/http.mjs";
import { how, notice } from "../components/parts.mjs";
import { toast } from "../components/toast.mjs";
import { html, nothing } from "../core/html.mjs";
import { loader } from "../core/loader.mjs";
import { go, route } from "../core/router.mjs";
import { may } from "../core/session.mjs";
import { zone } from "../core/settings.mjs";
import { texts } from "../core/texts.mjs";
import { DAY, MINUTE, iso } from "../core/time.mjs";
import { fieldsView } from "../lease/fields.mjs";
import { body, command, newForm, rule, taking } from "../lease/form.mjs";
import { heldOffer } from "../lease/offer.mjs";
import { occurrencesView } from "../lease/occurrences.mjs";
import { verdict } from "../lease/verdict.mjs";
import catalogue from "../texts/en/newlease.mjs";

const t = texts(catalogue);
const HOLD_SECONDS = 600;

/** @typedef {import("../../../../types/api").LeaseCreation} LeaseCreation */

/** @returns {import("../core/page.mjs").Page} */
export function open() {
  const form = signal(newForm(route.peek().query, zone.peek()));
  const answer = verdict();
  const offer = heldOffer();
  /** @type {import("../vendor/signals-core/signals-core.mjs").Signal<import("../../../../types/api").SeriesAnswer | null>} */
  const series = signal(/** @type {import("../../../../types/api").SeriesAnswer | null} */ (null));
  const wrong = signal(/** @type {ApiError | null} */ (null));
  const choices = loader(async (abort) => (await call("GET /v1/availability/properties", { signal: abort })).properties);
  const templates = loader(async (abort) => may("leasehold:templates:get") ? (await call("GET /v1/lease-templates", { signal: abort })).templates : []);
  for (const each of [choices, templates]) each.reload().catch(reportError);

  let key = crypto.randomUUID();
  let since = Date.now();
  /** @param {import("../lease/form.mjs").Form} next */
  const change = (next) => {
    form.value = next;
    key = crypto.randomUUID();
    since = Date.now();
    wrong.value = null;
    answer.ask(body(next, zone.peek()));
  };
  change(form.peek());

  /** @param {() => Promise<void>} send */
  const doing = (send) => () => {
    wrong.value = null;
    send().catch((error) => {
      if (!(error instanceof ApiError)) return reportError(error);
      wrong.value = error;
    });
  };
  const asked = (facts = form.peek()) => /** @type {LeaseCreation} */ (/** @type {unknown} */ (body(facts, zone.peek())));
  /** What does not start as soon as it can is asked for as it is. */
  const exactly = () => asked({ ...form.peek(), within: 0 });
  /** The same for the same request, so that two clicks, or a click after no answer, make one lease. @param {string} action */
  const headers = (action) => ({ "Idempotency-Key": `${key}-${action}` });

  const create = doing(async () => {
    const { lease } = await call("POST /v1/leases", { body: asked(), headers: headers("create"), person: true });
    toast(t("created"), "good");
    go(`leases/${lease.id}`);
  });
  const wait = doing(async () => {
    const waits = { ...exactly(), type: /** @type {const} */ ("waitlist"), deadline: iso(since + 7 * DAY) };
    const { lease } = await call("POST /v1/leases", { body: waits, headers: headers("wait"), person: true });
    toast(t("waiting"), "good");
    go(`leases/${lease.id}`);
  });
  const hold = doing(async () => {
    const wanted = { ...exactly(), hold_seconds: HOLD_SECONDS };
    offer.shown.value = (await call("POST /v1/offers", { body: wanted, headers: headers("hold"), person: true })).offer;
  });
  const recur = doing(async () => {
    const wanted = { ...exactly(), rule: rule(form.peek()), time_zone: zone.peek() };
    if (wanted.start_date === "now") wanted.start_date = iso(Math.ceil(since / MINUTE) * MINUTE);
    series.value = (await call("POST /v1/series", { body: wanted, headers: headers("recur"), person: true })).series;
  });

  return {
    title: () => t("title"),
    view: () => {
      const recurs = form.value.repeats !== "once";
      const request = body(recurs ? { ...form.value, within: 0 } : form.value, zone.value);
      const granted = answer.state.value.granted !== null;
      return html`
        <div class="page-head"><h1>${t("title")}</h1></div>
        <div class="ask">
          <div>${fieldsView(form.value, change, choices.state.value.value ?? [], templates.state.value.value ?? [], wrong.value)}</div>
          <aside class="answer" aria-live="polite">
            ${wrong.value ? notice("bad", wrong.value.message) : nothing}
            ${offer.view((id) => go(`leases/${id}`))}
            ${answer.view((counter) => change(taking(form.peek(), counter, zone.peek())))}
            <div class="actions">
              ${recurs
                ? html`<button type="button" class="primary" ?disabled=${!request} @click=${recur}>${t("create_series")}</button>`
                : html`<button type="button" class="primary" ?disabled=${!granted} @click=${create}>${t("create")}</button>`}
              ${granted && !recurs && !form.value.within && may("leasehold:offers:post")
                ? html`<button type="button" title=${t("hold_hint")} @click=${hold}>${t("hold")}</button>`
                : nothing}
              ${answer.state.value.refused && !recurs
                ? html`<button type="button" title=${t("wait_hint")} @click=${wait}>${t("wait")}</button>`
                : nothing}
            </div>
            ${request ? script(request, recurs ? rule(form.value) : "") : nothing}
          </aside>
        </div>
        ${series.value ? occurrencesView(series.value) : nothing}
      `;
    },
    close: () => {
      answer.close();
      offer.close();
      choices.close();
      templates.close();
    },
  };
}

/** @param {Record<string, unknown>} request @param {string} recurring the rule, or "" */
function script(request, recurring) {
  if (recurring) {
    const sent = { ...request, rule: recurring, time_zone: zone.value };
    return how({ command: `${command(request, "series create")} --rule '${recurring}'`, method: "POST", path: "/v1/series", body: sent });
  }
  return how({ command: command(request), method: "POST", path: "/v1/leases", body: request });
}
