// What is above the picture: time, grouping, search, filter, size of rows.

import { html, nothing } from "../core/html.mjs";
import { adjust } from "../core/router.mjs";
import { texts } from "../core/texts.mjs";
import { now, zone } from "../core/settings.mjs";
import { fromLocal, iso, span as spanText, toLocal } from "../core/time.mjs";
import catalogue from "../texts/en/timeline.mjs";
import { propertyOf } from "./model.mjs";
import { COLOURS, MAKES, SIZES, SPANS, TYPES, seconds, wordsOfFilter } from "./query.mjs";

/** @typedef {import("./model.mjs").Model} Model */
const t = texts(catalogue);
const LEGEND = /** @type {const} */ (["free", "mine", "project", "taken", "after", "broken", "closed"]);
const LEGEND_OF_FARES = /** @type {const} */ (["free", "pending", "starting", "active", "risk", "degraded", "error", "taken", "after", "broken", "closed"]);
const MOST_VALUES = 40;
const LONGEST_VALUE = 40;
const TYPE_NAMES = /** @type {const} */ ({ "physical:host": "type_host", "virtual:floatingip": "type_floatingip" });

/**
 * The properties by which rows can be told apart, each with its values and how many rows have them.
 * @param {Model} model
 * @returns {{name: string, values: [string, number][]}[]}
 */
export function facetsOf(model) {
  const facets = [];
  for (const name of model.properties.keys()) {
    /** @type {Map<string, number>} */
    const counts = new Map();
    for (let row = 0; row < model.rows; row += 1) {
      const value = propertyOf(model, name, row);
      if (value) counts.set(value, (counts.get(value) ?? 0) + 1);
    }
    // Long texts, such as what a processor can do, are not to choose from.
    if ([...counts.keys()].some((value) => value.length > LONGEST_VALUE)) continue;
    if (counts.size < 1 || counts.size > MOST_VALUES || (counts.size === 1 && [...counts.values()][0] === model.rows)) continue;
    const values = [...counts].sort((one, other) => one[0].localeCompare(other[0], "en", { numeric: true }));
    facets.push({ name, values });
  }
  return facets;
}

/**
 * @param {object} options
 * @param {import("./query.mjs").Wish} options.wish
 * @param {{from: number, to: number}} options.view
 * @param {readonly ReturnType<typeof facetsOf>[number][]} options.facets
 * @param {string} options.by
 * @param {import("./query.mjs").Size} options.size
 * @param {boolean} options.asTable
 * @param {"lease" | "maintenance" | null} options.makes what a drag makes; null: there is no choice
 * @param {boolean} options.recalls whether the caller may ask what was known at a moment
 * @param {(change: {from: number, to: number}) => void} options.show
 * @param {() => void} options.toNow
 */
export function toolbar({ wish, view, facets, by, size, asTable, makes, recalls, show, toNow }) {
  const length = view.to - view.from;
  /** @param {number} share */
  const shift = (share) => show({ from: Math.round(view.from + share * length), to: Math.round(view.to + share * length) });
  /** @param {number} wanted */
  const around = (wanted) => show({ from: Math.round(view.from + (length - wanted) / 8), to: Math.round(view.from + (length - wanted) / 8) + wanted });
  const spans = SPANS.map((each) => [each, seconds(each)]);
  const known = spans.some(([, each]) => each === length);
  return html`<div class="tl-bar">
    <div class="tl-tools" role="group" aria-label=${t("span")}>
      ${asTable ? nothing : html`<button type="button" @click=${toNow}>${t("now")}</button>
      <button type="button" class="icon" aria-label=${t("earlier")} title=${t("earlier")} @click=${() => shift(-0.5)}>‹</button>
      <button type="button" class="icon" aria-label=${t("later")} title=${t("later")} @click=${() => shift(0.5)}>›</button>
      <button type="button" class="icon" aria-label=${t("closer")} title=${t("closer")} @click=${() => around(Math.max(3600, Math.round(length / 2)))}>+</button>
      <button type="button" class="icon" aria-label=${t("wider")} title=${t("wider")} @click=${() => around(Math.min(130 * 86400, length * 2))}>−</button>`}
      <select aria-label=${t("span")} @change=${(/** @type {Event} */ event) => around(Number(valueOf(event)))}>
        ${known ? nothing : html`<option value=${length} selected>${spanText(length * 1000)}</option>`}
        ${spans.map(([, each]) => html`<option value=${each ?? ""} ?selected=${each === length}>${spanText(Number(each) * 1000)}</option>`)}
      </select>
    </div>
    <input
      type="search"
      class="tl-search"
      id="timeline-search"
      aria-label=${t("search")}
      placeholder=${t("search")}
      .value=${wish.text}
      @input=${(/** @type {Event} */ event) => adjust({ q: valueOf(event) })}
    />
    ${filter(wish, facets)}
    <label class="tl-choice"><span>${t("group")}</span>
      <select @change=${(/** @type {Event} */ event) => adjust({ by: valueOf(event) || "-" })}>
        <option value="" ?selected=${by === ""}>${t("group_none")}</option>
        ${facets.map(({ name }) => html`<option value=${name} ?selected=${by === name}>${name}</option>`)}
      </select></label>
    <label class="tl-choice"><span>${t("type")}</span>
      <select @change=${(/** @type {Event} */ event) => adjust({ type: valueOf(event) })}>
        ${TYPES.map((each) => html`<option value=${each} ?selected=${wish.type === each}>${t(TYPE_NAMES[each])}</option>`)}
      </select></label>
    ${asTable ? nothing : html`<label class="tl-choice"><span>${t("size")}</span>
      <select @change=${(/** @type {Event} */ event) => adjust({ rows: valueOf(event) })}>
        ${SIZES.map((each) => html`<option value=${each} ?selected=${size === each}>${t(`size_${each}`)}</option>`)}
      </select></label>`}
    ${asTable ? nothing : html`<label class="tl-choice"><span>${t("colour")}</span>
      <select @change=${(/** @type {Event} */ event) => adjust({ colour: valueOf(event) === "whose" ? undefined : valueOf(event) })}>
        ${COLOURS.map((each) => html`<option value=${each} ?selected=${wish.colour === each}>${t(`colour_${each}`)}</option>`)}
      </select></label>`}
    ${makes === null ? nothing : html`<label class="tl-choice"><span>${t("makes")}</span>
      <select @change=${(/** @type {Event} */ event) => adjust({ makes: valueOf(event) === "lease" ? undefined : valueOf(event) })}>
        ${MAKES.map((each) => html`<option value=${each} ?selected=${makes === each}>${t(`makes_${each}`)}</option>`)}
      </select></label>`}
    ${recalls ? html`<label class="tl-choice"><span>${t("as_of")}</span>
      <input
        type="datetime-local"
        class="tl-moment"
        .value=${wish.asOf === null ? "" : toLocal(wish.asOf * 1000, zone.value)}
        max=${toLocal(now.value, zone.value)}
        @change=${(/** @type {Event} */ event) => adjust({ as_of: wordOf(valueOf(event)) })}
      /></label>` : nothing}
    <div class="tl-tools tl-as" role="group" aria-label=${t("as")}>
      <button type="button" aria-pressed=${asTable ? "false" : "true"} @click=${() => adjust({ as: "picture" })}>${t("as_picture")}</button>
      <button type="button" aria-pressed=${asTable ? "true" : "false"} @click=${() => adjust({ as: "table" })}>${t("as_table")}</button>
    </div>
  </div>`;
}

/** A typed moment as it is in the address; undefined while it is none. @param {string} text */
function wordOf(text) {
  const moment = fromLocal(text, zone.peek());
  return Number.isFinite(moment) ? iso(moment) : undefined;
}

/** @param {Event} event */
function valueOf(event) {
  return /** @type {HTMLInputElement | HTMLSelectElement} */ (event.target).value;
}

/** @param {import("./query.mjs").Wish} wish @param {readonly ReturnType<typeof facetsOf>[number][]} facets */
function filter(wish, facets) {
  const chosen = Object.values(wish.properties).reduce((sum, values) => sum + values.length, 0);
  /** @param {string} name @param {string} value @param {boolean} on */
  const toggle = (name, value, on) => {
    const before = wish.properties[name] ?? [];
    adjust(wordsOfFilter(name, on ? [...before, value] : before.filter((each) => each !== value)));
  };
  const clear = () => adjust(Object.assign({}, ...Object.keys(wish.properties).map((name) => wordsOfFilter(name, []))));
  return html`<details class="tl-filter">
    <summary>${chosen ? t("filter_on", { count: chosen }) : t("filter")}</summary>
    <div class="tl-facets">
      ${chosen ? html`<button type="button" class="quiet" @click=${clear}>${t("filter_clear")}</button>` : nothing}
      ${facets.map(({ name, values }) => html`<fieldset>
        <legend>${name}</legend>
        ${values.map(([value, count]) => html`<label>
          <input
            type="checkbox"
            .checked=${wish.properties[name]?.includes(value) ?? false}
            @change=${(/** @type {Event} */ event) => toggle(name, value, /** @type {HTMLInputElement} */ (event.target).checked)}
          />
          ${value} <span class="muted">${count}</span></label>`)}
      </fieldset>`)}
    </div>
  </details>`;
}

/** What the colours mean. @param {"whose" | "fare"} colour what those of bars say @param {boolean} shared whether several share a host */
export function legend(colour, shared) {
  const looks = colour === "fare" ? LEGEND_OF_FARES : LEGEND;
  return html`<ul class="tl-legend" aria-label=${t("legend")}>
    ${looks.map((look) => html`<li><span class="tl-key tl-key-${look}" aria-hidden="true"></span>${t(`legend_${look}`)}</li>`)}
    ${colour === "fare" && shared ? html`<li><span class="tl-key tl-key-mine" aria-hidden="true"></span>${t("legend_closed_lanes")}</li>` : nothing}
  </ul>`;
}
