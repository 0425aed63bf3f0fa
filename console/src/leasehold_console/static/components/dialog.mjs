import { html, nothing, ref } from "../core/html.mjs";
import { texts } from "../core/texts.mjs";
import shell from "../texts/en/shell.mjs";

const t = texts(shell);

/**
 * A dialog over the page. It is there as long as it is in the view; Escape and the button at its corner call `close`.
 * @param {object} options
 * @param {string} options.title
 * @param {import("../core/html.mjs").View} options.body
 * @param {import("../core/html.mjs").View} [options.actions] buttons, the first is the one that is meant
 * @param {() => void} [options.close] left out: it cannot be closed
 * @param {(event: SubmitEvent) => void} [options.submit] the dialog is a form
 * @param {string} [options.name] for tests and styles
 */
export function dialog({ title, body, actions = nothing, close, submit, name = "" }) {
  const id = `dialog-${name || "title"}`;
  return html`<dialog
    class="dialog"
    data-name=${name}
    aria-labelledby=${id}
    ${ref(show)}
    @cancel=${(/** @type {Event} */ event) => {
      event.preventDefault();
      close?.();
    }}
  >
    <form
      class="dialog-form"
      novalidate
      @submit=${(/** @type {SubmitEvent} */ event) => {
        event.preventDefault();
        submit?.(event);
      }}
    >
      <header class="dialog-head">
        <h2 id=${id}>${title}</h2>
        ${close ? html`<button type="button" class="icon" aria-label=${t("close")} @click=${close}>✕</button>` : nothing}
      </header>
      <div class="dialog-body">${body}</div>
      <footer class="dialog-foot">${actions}</footer>
    </form>
  </dialog>`;
}

/** Where the focus was before each dialog that is open. @type {(Element | null)[]} */
const before = [];

/** @param {Element | undefined} element undefined: the dialog is gone */
function show(element) {
  if (element instanceof HTMLDialogElement) {
    before.push(document.activeElement);
    // Lit calls this before the element is in the document, where it cannot be shown yet.
    queueMicrotask(() => element.isConnected && !element.open && element.showModal());
    return;
  }
  const last = before.pop();
  if (last instanceof HTMLElement && last.isConnected) queueMicrotask(() => last.focus({ preventScroll: true }));
}
