// What pages make their templates with, in one import.
export { html, nothing, render } from "../vendor/lit-html/lit-html.js";
export { repeat } from "../vendor/lit-html/directives/repeat.js";
export { createRef, ref } from "../vendor/lit-html/directives/ref.js";
export { live } from "../vendor/lit-html/directives/live.js";
export { ifDefined } from "../vendor/lit-html/directives/if-defined.js";
export { classMap } from "../vendor/lit-html/directives/class-map.js";
export { keyed } from "../vendor/lit-html/directives/keyed.js";

/**
 * What a view returns: a template, text, or several of them.
 * @typedef {import("../vendor/lit-html/lit-html.js").TemplateResult | string | number | typeof import("../vendor/lit-html/lit-html.js").nothing} Piece
 * @typedef {Piece | Piece[]} View
 */
