import { html, live, nothing } from "../core/html.mjs";

/**
 * @typedef {object} FieldOptions
 * @property {string} name its id is `field-NAME`; the `field` of an error of the API, where there is one
 * @property {string} label
 * @property {string} [hint]
 * @property {string} [error] why the value cannot stay
 *
 * @typedef {FieldOptions & {
 *   value: string, input: (value: string) => void, type?: string, autocomplete?: string, required?: boolean, min?: string,
 *   step?: string, placeholder?: string, autofocus?: boolean,
 * }} TextOptions
 *
 * @typedef {FieldOptions & {value: string, change: (value: string) => void, options: readonly (readonly [string, string])[]}} SelectOptions
 */

/**
 * A label, a control, a hint and an error. The control has to have the id `field-NAME`.
 * @param {FieldOptions & {control: import("../core/html.mjs").View}} options
 */
export function field({ name, label, hint, error, control }) {
  return html`<div class="field ${error ? "wrong" : ""}">
    <label for=${`field-${name}`}>${label}</label>
    ${control}
    ${hint ? html`<p class="hint" id=${`hint-${name}`}>${hint}</p>` : nothing}
    ${error ? html`<p class="error" id=${`error-${name}`} role="alert">${error}</p>` : nothing}
  </div>`;
}

/** @param {FieldOptions} options */
function described({ name, hint, error }) {
  const ids = [hint ? `hint-${name}` : "", error ? `error-${name}` : ""].filter(Boolean).join(" ");
  return ids || nothing;
}

/** @param {TextOptions} options */
export function textField(options) {
  const control = html`<input
    id=${`field-${options.name}`}
    name=${options.name}
    type=${options.type ?? "text"}
    autocomplete=${/** @type {any} */ (options.autocomplete ?? "off")}
    min=${options.min ?? nothing}
    step=${options.step ?? nothing}
    placeholder=${options.placeholder ?? nothing}
    ?required=${options.required}
    ?autofocus=${options.autofocus}
    aria-invalid=${options.error ? "true" : nothing}
    aria-describedby=${described(options)}
    .value=${live(options.value)}
    @input=${(/** @type {InputEvent} */ event) => options.input(/** @type {HTMLInputElement} */ (event.target).value)}
  />`;
  return field({ ...options, control });
}

/** @param {SelectOptions} options */
export function selectField(options) {
  const control = html`<select
    id=${`field-${options.name}`}
    name=${options.name}
    aria-describedby=${described(options)}
    .value=${live(options.value)}
    @change=${(/** @type {Event} */ event) => options.change(/** @type {HTMLSelectElement} */ (event.target).value)}
  >
    ${options.options.map(([value, text]) => html`<option value=${value} ?selected=${value === options.value}>${text}</option>`)}
  </select>`;
  return field({ ...options, control });
}
