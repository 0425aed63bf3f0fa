// The fields of a request for a lease; which resources is chosen from what there is, never typed as JSON.

import { selectField, textField } from "../components/field.mjs";
import { html, nothing } from "../core/html.mjs";
import { zone } from "../core/settings.mjs";
import { texts } from "../core/texts.mjs";
import catalogue from "../texts/en/newlease.mjs";
import { newPart } from "./form.mjs";

const t = texts(catalogue);
const TYPES = /** @type {const} */ ([
  ["physical:host", t("hosts")],
  ["virtual:instance", t("instances")],
  ["flavor:instance", t("flavor")],
  ["virtual:floatingip", t("addresses")],
]);
const REPEATS = /** @type {const} */ ([
  ["once", t("once")],
  ["daily", t("daily")],
  ["weekly", t("weekly")],
]);

/** @typedef {import("./form.mjs").Form} Form */
/** @typedef {import("./form.mjs").Part} Part */
/** @typedef {import("../../../../types/api").AskableAnswer} Askable */

/**
 * @param {Form} form @param {(form: Form) => void} change
 * @param {readonly Askable[]} choices properties and their values
 * @param {readonly import("../../../../types/api").TemplateAnswer[]} templates
 * @param {import("../api/http.mjs").ApiError | null} wrong
 */
export function fieldsView(form, change, choices, templates, wrong) {
  /** @param {string} name */
  const error = (name) => (wrong?.field === name ? { error: wrong.message } : {});
  return html`
    <section class="card">
      <h2>${t("when")}</h2>
      <div class="fields">
        ${textField({ name: "name", label: t("name"), hint: t("name_hint"), value: form.name, input: (name) => change({ ...form, name }), ...error("name") })}
        ${textField({
          ...{ name: "purpose", label: t("purpose"), hint: t("purpose_hint") },
          ...{ value: form.purpose, input: (purpose) => change({ ...form, purpose }), ...error("purpose") },
        })}
        ${textField({
          ...{ name: "start_date", type: "datetime-local", label: t("start", { zone: zone.value }), hint: t("start_hint") },
          ...{ value: form.start, input: (start) => change({ ...form, start }), ...error("start_date") },
        })}
        ${textField({
          ...{ name: "duration_seconds", type: "number", min: "0", step: "any", label: t("hours") },
          ...{ value: form.hours, input: (hours) => change({ ...form, hours }), ...error("duration_seconds") },
        })}
        ${selectField({
          ...{ name: "repeats", label: t("repeats"), value: form.repeats, options: REPEATS },
          change: (repeats) => change({ ...form, repeats: /** @type {Form["repeats"]} */ (repeats) }),
        })}
        ${form.repeats === "once"
          ? nothing
          : textField({ name: "times", type: "number", min: "1", label: t("times"), value: form.times, input: (times) => change({ ...form, times }) })}
        ${templates.length
          ? selectField({
              ...{ name: "template", label: t("template"), hint: t("template_hint"), value: form.template },
              options: [["", t("no_template")], ...templates.map((each) => /** @type {const} */ ([each.id, each.name]))],
              change: (template) => change({ ...form, template }),
            })
          : nothing}
      </div>
    </section>
    ${form.template
      ? nothing
      : html`${form.parts.map((part, index) => partView(form, part, index, change, choices))}
          <button type="button" class="quiet" @click=${() => change({ ...form, parts: [...form.parts, newPart({ type: "virtual:floatingip" })] })}>
            + ${t("another")}
          </button>`}
  `;
}

/** @param {Form} form @param {Part} part @param {number} index @param {(form: Form) => void} change @param {readonly Askable[]} choices */
function partView(form, part, index, change, choices) {
  /** @param {Partial<Part>} facts */
  const set = (facts) => change({ ...form, parts: form.parts.map((each, position) => (position === index ? { ...each, ...facts } : each)) });
  const name = (/** @type {string} */ field) => `${field}-${index}`;
  /** @param {keyof Part & string} key @param {string} label @param {string} [type] */
  const text = (key, label, type = "number") =>
    textField({ name: name(key), label, type, value: String(part[key]), input: (value) => set({ [key]: value }), ...(type === "number" ? { min: "1" } : {}) });
  const slots = part.type === "virtual:instance";
  return html`<section class="card">
    <h2>${t("what")}</h2>
    <div class="fields">
      ${selectField({ name: name("type"), label: t("type"), value: part.type, options: TYPES, change: (type) => set({ type: /** @type {Part["type"]} */ (type) }) })}
      ${text("count", t("count"))} ${slots ? [text("vcpus", t("vcpus")), text("memory_mb", t("memory")), text("disk_gb", t("disk"))] : nothing}
      ${part.type === "flavor:instance" ? text("flavor", t("flavor_id"), "text") : nothing}
      ${part.type === "virtual:floatingip" ? text("network", t("network"), "text") : nothing}
    </div>
    ${part.type === "physical:host" || slots ? whichView(part, index, set, choices) : nothing}
    ${form.parts.length > 1
      ? html`<button type="button" class="quiet" @click=${() => change({ ...form, parts: form.parts.filter((_, position) => position !== index) })}>${t("remove")}</button>`
      : nothing}
  </section>`;
}

/** Whether a property tells resources apart by values that people read; a description in JSON is none. @param {Askable} askable */
function isChoice({ values }) {
  return values.length > 1 && !values.some((value) => value.startsWith("{"));
}

/** @param {Part} part @param {number} index @param {(facts: Partial<Part>) => void} set @param {readonly Askable[]} choices */
function whichView(part, index, set, choices) {
  /** @param {string} property @param {string} value */
  const toggle = (property, value) => {
    const before = part.chosen[property] ?? [];
    const after = before.includes(value) ? before.filter((each) => each !== value) : [...before, value];
    set({ chosen: { ...part.chosen, [property]: after } });
  };
  return html`<details class="which" ?open=${Object.values(part.chosen).some((values) => values.length)}>
    <summary>${t("which")}</summary>
    <p class="muted">${t("any")}</p>
    ${choices.filter((each) => isChoice(each) || part.chosen[each.property]).map(({ property, values, left_out: more }) => html`
      <fieldset class="values">
        <legend>${property}</legend>
        ${values.map((value) => html`<label>
          <input
            type="checkbox"
            name=${`${property}-${index}`}
            .checked=${part.chosen[property]?.includes(value) ?? false}
            @change=${() => toggle(property, value)}
          />${value}
        </label>`)}
        ${more ? html`<span class="muted">${t("values_left", { count: more })}</span>` : nothing}
      </fieldset>
    `)}
  </details>`;
}
