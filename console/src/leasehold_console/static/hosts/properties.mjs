// The properties of one host: set, removed, and hidden from users or shown to them.

import { signal } from "../vendor/signals-core/signals-core.mjs";
import { ApiError, call } from "../api/http.mjs";
import { dialog } from "../components/dialog.mjs";
import { how, notice } from "../components/parts.mjs";
import { toast } from "../components/toast.mjs";
import { html, nothing } from "../core/html.mjs";
import { may } from "../core/session.mjs";
import { texts } from "../core/texts.mjs";
import catalogue from "../texts/en/hosts.mjs";
import { added, changed, commandsOf, hidden, linesOf } from "./lines.mjs";

const t = texts(catalogue);
const TYPE = "physical:host";

/** @typedef {import("./words.mjs").Host} Host */
/** @typedef {import("./lines.mjs").Line} Line */

/** @param {() => void} again reads the hosts anew */
export function properties(again) {
  const chosen = signal(/** @type {Host | null} */ (null));
  const lines = signal(/** @type {readonly Line[]} */ ([]));
  const wrong = signal("");

  /** @param {Host} host */
  async function begin(host) {
    const query = /** @type {any} */ ({ detail: true, all: true });
    const { resource_properties: known } = may("leasehold:resources:get_properties")
      ? await call("GET /v1/resources/{resource_type}/properties", { path: { resource_type: TYPE }, query, person: true })
      : { resource_properties: [] };
    const secret = new Set(known.filter((each) => each.private).map((each) => each.property));
    [lines.value, wrong.value, chosen.value] = [linesOf(host.properties, secret), "", host];
  }

  /** @param {Host} host */
  async function save(host) {
    wrong.value = "";
    const [changes, privacy] = [changed(lines.peek()), hidden(lines.peek())];
    try {
      if (Object.keys(changes).length) {
        await call("PUT /v1/resources/{resource_type}/{resource_id}", { path: { resource_type: TYPE, resource_id: host.id }, body: { properties: changes }, person: true });
      }
      for (const [name, secret] of privacy) {
        await call("PATCH /v1/resources/{resource_type}/properties/{name}", { path: { resource_type: TYPE, name }, body: { private: secret }, person: true });
      }
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      wrong.value = error.message;
      again();
      return;
    }
    chosen.value = null;
    toast(t("properties_saved", { name: host.name }), "good");
    again();
  }

  return {
    /** @param {Host} host */
    button: (host) => may("leasehold:resources:put")
      ? html`<button
          type="button"
          class="quiet"
          aria-label=${t("properties_of", { name: host.name })}
          @click=${() => begin(host).catch((error) => (error instanceof ApiError ? toast(error.message, "bad") : reportError(error)))}
        >${t("properties")}</button>`
      : nothing,
    view: () => chosen.value ? editor(chosen.value, lines, wrong.value, (host) => save(host).catch(reportError), () => (chosen.value = null)) : nothing,
  };
}

/**
 * @param {Host} host @param {import("../vendor/signals-core/signals-core.mjs").Signal<readonly Line[]>} lines @param {string} wrong
 * @param {(host: Host) => void} save @param {() => void} close
 */
function editor(host, lines, wrong, save, close) {
  /** @param {number} index @param {Partial<Line>} facts */
  const set = (index, facts) => (lines.value = lines.peek().map((each, at) => (at === index ? { ...each, ...facts } : each)));
  const changes = changed(lines.value);
  const [commands, nothingToDo] = [commandsOf(host.name, lines.value), !Object.keys(changes).length && !hidden(lines.value).length];
  return dialog({
    name: "properties",
    title: t("properties_of", { name: host.name }),
    close,
    submit: () => save(host),
    body: html`
      <p class="muted">${t("properties_says")}</p>
      ${wrong ? notice("bad", wrong) : nothing}
      <ul class="lines">${lines.value.map((line, index) => lineView(line, index, set))}</ul>
      <button type="button" class="quiet" @click=${() => (lines.value = [...lines.peek(), added()])}>+ ${t("property_add")}</button>
      ${commands.length ? how({ command: commands.join("\n"), method: "PUT", path: `/v1/resources/${TYPE}/${host.id}`, body: { properties: changes } }) : nothing}
    `,
    actions: html`<button type="submit" class="primary" ?disabled=${nothingToDo}>${t("save")}</button>`,
  });
}

/** @param {Line} line @param {number} index @param {(index: number, facts: Partial<Line>) => void} set */
function lineView(line, index, set) {
  /** @param {"name" | "value"} key @param {string} label */
  const box = (key, label) => html`<input
    type="text"
    id=${`field-${key}-${index}`}
    autocomplete="off"
    aria-label=${line.before && key === "value" ? line.name : label}
    placeholder=${label}
    ?disabled=${line.removed}
    .value=${line[key]}
    @input=${(/** @type {InputEvent} */ event) => set(index, { [key]: /** @type {HTMLInputElement} */ (event.target).value })}
  />`;
  const name = line.name || t("property_name");
  return html`<li class=${line.removed ? "removed" : ""}>
    ${line.before ? html`<span class="anywhere">${line.name}</span>` : box("name", t("property_name"))} ${box("value", t("property_value"))}
    ${may("leasehold:resources:update_properties")
      ? html`<label title=${t("private_says")}>
          <input type="checkbox" aria-label=${t("private_of", { name })} .checked=${line.secret} ?disabled=${line.removed} @change=${() => set(index, { secret: !line.secret })} />
          ${t("private")}
        </label>`
      : nothing}
    <button type="button" class="quiet" aria-label=${t(line.removed ? "property_keep" : "property_remove", { name })} @click=${() => set(index, { removed: !line.removed })}>
      ${t(line.removed ? "keep" : "remove")}
    </button>
  </li>`;
}
