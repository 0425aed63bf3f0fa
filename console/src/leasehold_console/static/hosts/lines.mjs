// The lines of the editor of properties, and what they change. Pure.

import { quoted } from "../core/command.mjs";

/**
 * A property as it is edited; `secret`: users do not see it, on whichever host.
 * @typedef {object} Line
 * @property {string} name
 * @property {string} value
 * @property {boolean} secret
 * @property {boolean} removed
 * @property {{value: string, secret: boolean} | null} before null: the host does not have it yet
 */

/** @param {Readonly<Record<string, string>>} properties @param {ReadonlySet<string>} secret the names of those that users do not see @returns {Line[]} */
export function linesOf(properties, secret) {
  return Object.entries(properties)
    .sort(([one], [other]) => one.localeCompare(other, "en"))
    .map(([name, value]) => ({ name, value, secret: secret.has(name), removed: false, before: { value, secret: secret.has(name) } }));
}

/** A line for another property. @returns {Line} */
export function added() {
  return { name: "", value: "", secret: false, removed: false, before: null };
}

/** The properties to set, null for those to remove. @param {readonly Line[]} lines @returns {Record<string, string | null>} */
export function changed(lines) {
  /** @type {Record<string, string | null>} */
  const changes = {};
  for (const { name, value, removed, before } of lines) {
    if (removed) {
      if (before) changes[name] = null;
    } else if (before ? value !== before.value : name.trim()) changes[name.trim()] = value;
  }
  return changes;
}

/** The properties to hide from users (true) or to show to them. @param {readonly Line[]} lines @returns {[string, boolean][]} */
export function hidden(lines) {
  return lines
    .filter(({ name, secret, removed, before }) => name.trim() && !removed && secret !== (before?.secret ?? false))
    .map(({ name, secret }) => [name.trim(), secret]);
}

/** The same as commands. @param {string} host @param {readonly Line[]} lines @returns {string[]} */
export function commandsOf(host, lines) {
  const changes = Object.entries(changed(lines));
  /** @param {string} verb @param {string[]} words */
  const command = (verb, words) => words.length ? [`leasehold host ${verb} ${quoted(host)}${words.map((word) => ` --extra ${quoted(word)}`).join("")}`] : [];
  return [
    ...command("set", changes.filter(([, value]) => value !== null).map(([name, value]) => `${name}=${value}`)),
    ...command("unset", changes.filter(([, value]) => value === null).map(([name]) => name)),
    ...hidden(lines).map(([name, secret]) => `leasehold host property set ${quoted(name)} --${secret ? "private" : "public"}`),
  ];
}
