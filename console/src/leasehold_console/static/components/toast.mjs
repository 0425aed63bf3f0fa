import { signal } from "../vendor/signals-core/signals-core.mjs";
import { html, repeat } from "../core/html.mjs";
import { texts } from "../core/texts.mjs";
import shell from "../texts/en/shell.mjs";

const t = texts(shell);
const SHOWN_FOR = 8000;

/** @typedef {{id: number, kind: "good" | "bad" | "info", text: import("../core/html.mjs").View}} Toast */

/** @type {import("../vendor/signals-core/signals-core.mjs").Signal<readonly Toast[]>} */
const shown = signal(/** @type {readonly Toast[]} */ ([]));
let last = 0;

/**
 * Says something in a corner, for some seconds; what is bad stays until it is closed.
 * @param {import("../core/html.mjs").View} text @param {Toast["kind"]} [kind]
 */
export function toast(text, kind = "info") {
  const id = ++last;
  shown.value = [...shown.peek(), { id, kind, text }];
  if (kind !== "bad") setTimeout(() => close(id), SHOWN_FOR);
}

/** @param {number} id */
function close(id) {
  shown.value = shown.peek().filter((each) => each.id !== id);
}

/** The corner; the shell has it once. */
export function toasts() {
  return html`<div class="toasts" role="status" aria-live="polite">
    ${repeat(shown.value, (each) => each.id, (each) => html`<div class="toast ${each.kind}">
      <div>${each.text}</div>
      <button type="button" class="icon" aria-label=${t("close")} @click=${() => close(each.id)}>✕</button>
    </div>`)}
  </div>`;
}
