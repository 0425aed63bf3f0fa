// Something that cannot be brought back is removed after one more question.

import { signal } from "../vendor/signals-core/signals-core.mjs";
import { ApiError } from "../api/http.mjs";
import { html, nothing } from "../core/html.mjs";
import { dialog } from "./dialog.mjs";
import { how, notice } from "./parts.mjs";
import { toast } from "./toast.mjs";

/**
 * @typedef {object} Asked
 * @property {string} title
 * @property {string} says what happens then
 * @property {string} verb
 * @property {string} keep what removes nothing says
 * @property {string} done
 * @property {string} command
 * @property {string} path of the API
 * @property {() => Promise<unknown>} send
 */

/** @param {() => void} after what follows a removal, such as reading anew what is listed */
export function removal(after) {
  const asked = signal(/** @type {(() => Asked) | null} */ (null));
  const wrong = signal("");

  /** @param {Asked} one */
  async function remove(one) {
    wrong.value = "";
    try {
      await one.send();
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      wrong.value = error.message;
      return;
    }
    asked.value = null;
    toast(one.done, "good");
    after();
  }

  return {
    /** @param {() => Asked} one is called each time that the question is drawn: what is asked about may change meanwhile */
    ask: (one) => ([wrong.value, asked.value] = ["", one]),
    view: () => {
      const one = asked.value?.();
      if (!one) return nothing;
      return dialog({
        name: "remove",
        title: one.title,
        close: () => (asked.value = null),
        submit: () => remove(one).catch(reportError),
        body: html`${wrong.value ? notice("bad", wrong.value) : nothing}
          <p>${one.says}</p>
          ${how({ command: one.command, method: "DELETE", path: one.path })}`,
        actions: html`<button type="submit" class="danger">${one.verb}</button>
          <button type="button" @click=${() => (asked.value = null)}>${one.keep}</button>`,
      });
    },
  };
}
