// An offer that is held for some minutes: its countdown, and the buttons that take it or give it up.

import { signal } from "../vendor/signals-core/signals-core.mjs";
import { ApiError, call } from "../api/http.mjs";
import { notice } from "../components/parts.mjs";
import { toast } from "../components/toast.mjs";
import { html, nothing } from "../core/html.mjs";
import { zone } from "../core/settings.mjs";
import { texts } from "../core/texts.mjs";
import { SECOND, clock, parse, span } from "../core/time.mjs";
import catalogue from "../texts/en/newlease.mjs";

const t = texts(catalogue);

/** @typedef {import("../../../../types/api").OfferAnswer} Offer */

export function heldOffer() {
  /** @type {import("../vendor/signals-core/signals-core.mjs").Signal<Offer | null>} */
  const shown = signal(/** @type {Offer | null} */ (null));
  const second = signal(Date.now());
  const timer = setInterval(() => {
    if (shown.peek()) second.value = Date.now();
  }, SECOND);

  /** @param {() => Promise<void>} send */
  async function change(send) {
    try {
      await send();
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      toast(error.message, "bad");
    }
  }

  return {
    shown,
    close: () => clearInterval(timer),
    /** @param {(id: string) => void} taken */
    view: (taken) => {
      const offer = shown.value;
      if (!offer) return nothing;
      const left = parse(offer.expires_at) - second.value;
      if (left <= 0) return notice("warn", t("lapsed"));
      const path = { offer_id: offer.id };
      const accept = () => change(async () => {
        const { lease } = await call("POST /v1/offers/{offer_id}/accept", { path, person: true });
        shown.value = null;
        taken(lease.id);
      });
      const giveUp = () => change(async () => {
        await call("DELETE /v1/offers/{offer_id}", { path, person: true });
        shown.value = null;
        toast(t("gave_up"), "good");
      });
      return notice("info", html`<span>${t("held", { when: clock(parse(offer.expires_at), zone.value), left: span(left) })}</span>
        <button type="button" class="primary" @click=${() => accept().catch(reportError)}>${t("accept")}</button>
        <button type="button" class="quiet" @click=${() => giveUp().catch(reportError)}>${t("give_up")}</button>`);
    },
  };
}
