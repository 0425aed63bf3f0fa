// How bars look: by whose they are, or by how their leases fare, and what lies over the colour. Pure.

import { FARES, LOOKS, fareOf } from "./model.mjs";

/** @typedef {import("./model.mjs").Model} Model */
/** @typedef {"rising" | "falling" | "upright"} Mark */

/** All that a bar may look like. */
export const ALL_LOOKS = [...LOOKS, ...FARES];
/** What lies over a colour, so that colour alone says nothing. @type {Partial<Record<import("./model.mjs").Look | import("./model.mjs").Fare, readonly Mark[]>>} */
export const MARKS = {
  closed: ["rising"],
  after: ["rising"],
  broken: ["rising"],
  offer: ["rising"],
  starting: ["upright"],
  risk: ["falling"],
  degraded: ["rising"],
  error: ["rising", "falling"],
};
const TAKEN = LOOKS.indexOf("taken");

/** Looks of bars by how their leases fare, looked up once for each picture that is read. */
export class Fares {
  constructor() {
    this.model = /** @type {Model | null} */ (null);
    this.looks = new Uint8Array(0);
  }

  /** How a bar looks: a position in ALL_LOOKS. @param {Model} model @param {"whose" | "fare"} colour @param {number} bar */
  lookOf(model, colour, bar) {
    const lease = /** @type {number} */ (model.leaseOf[bar]);
    if (colour === "whose" || lease < 0 || model.kinds[bar] !== "lease") return /** @type {number} */ (model.looks[bar]);
    if (this.model !== model) {
      this.model = model;
      this.looks = Uint8Array.from(model.leases, (each) => {
        const fare = fareOf(each);
        return fare === null ? TAKEN : LOOKS.length + FARES.indexOf(fare);
      });
    }
    return /** @type {number} */ (this.looks[lease]);
  }
}
