// The catalogue of texts: each area has a file in texts/en/, and reads it through a function of its own, so that the
// type checker knows every key. A text has its values in braces. A text that counts has two forms, for one and for more.

const rules = new Intl.PluralRules("en");

/**
 * Returns the text with its values filled in.
 * @param {string | readonly [string, string]} text
 * @param {Record<string, string | number>} [values] `count` chooses the form
 */
export function fill(text, values = {}) {
  const form = typeof text === "string" ? text : text[rules.select(Number(values.count)) === "one" ? 0 : 1];
  return form.replace(/\{(\w+)\}/g, (whole, name) => (name in values ? String(values[name]) : whole));
}

/**
 * Returns the function that reads a catalogue.
 * @template {Record<string, string | readonly [string, string]>} T
 * @param {T} catalogue
 * @returns {(key: keyof T & string, values?: Record<string, string | number>) => string}
 */
export function texts(catalogue) {
  return (key, values) => fill(catalogue[key] ?? key, values);
}
