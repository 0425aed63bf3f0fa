// The picture as an element of the page: canvas, one live row for screen readers, and what is in the hand above them.

import { firstAbove } from "./bars.mjs";
import { readColours } from "./colours.mjs";
import { Painter } from "./draw.mjs";
import { Input } from "./input.mjs";
import { Keyboard } from "./keyboard.mjs";
import { lineAt, lineOf } from "./layout.mjs";
import { place, timeAt } from "./scale.mjs";
import { AXIS, NARROW } from "./sizes.mjs";
import { isShared } from "./steps.mjs";

/** @typedef {import("./model.mjs").Model} Model */
/** @typedef {import("./bars.mjs").Segment} Segment */

/**
 * What the page gives. Callbacks are how the element speaks to it.
 * @typedef {object} State
 * @property {Model} model
 * @property {import("./layout.mjs").Layout} layout
 * @property {{from: number, to: number}} view
 * @property {number} now seconds
 * @property {string} zone
 * @property {string} theme
 * @property {string} label what the picture is called
 * @property {"lease" | "maintenance" | null} makes what a drag makes: a lease on what is free, a window on anything
 * @property {"whose" | "fare"} colour what the colours of bars say
 * @property {(lease: number) => string} fare how a lease fares, in words
 * @property {(row: number) => string} name
 * @property {(row: number) => string} remark
 * @property {(group: import("./layout.mjs").Group) => string} says
 * @property {(row: number, segment: Segment) => string} describe
 * @property {(draft: import("./draft.mjs").Draft) => string} describeDraft
 * @property {(lease: number, end: number, stop: import("./draft.mjs").Stop | null) => string} describeEnd
 * @property {(view: {from: number, to: number}) => void} moved
 * @property {(draft: import("./draft.mjs").Draft) => void} drafted
 * @property {(lease: number, end: number | null) => void} extended null: ask for the end
 * @property {(lease: number) => void} chosen
 * @property {(row: number) => void} toggled
 */

export const GUTTER = 200;

/** @param {string} name @param {Record<string, string>} [attributes] */
function part(name, attributes = {}) {
  const element = document.createElement("div");
  element.className = name;
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  return element;
}

export class TimelineElement extends HTMLElement {
  constructor() {
    super();
    /** @type {State | null} */
    this.given = null;
    this.view = { from: 0, to: 1 };
    this.size = { width: 0, height: 0 };
    /** Where the keyboard is. */
    this.cursor = { row: -1, time: 0 };
    /** Whether the keyboard was used last: only then is its place drawn. */
    this.byKeys = true;
    this.frame = 0;
    this.cellNumber = 0;
    this.scroller = part("tl-scroll");
    this.stage = part("tl-stage");
    this.space = part("tl-space");
    this.canvas = document.createElement("canvas");
    this.canvas.setAttribute("aria-hidden", "true");
    this.grid = part("tl-grid", { role: "grid", tabindex: "0", "aria-colcount": "2" });
    this.ring = part("tl-ring");
    this.draft = part("tl-draft");
    this.draftText = part("tl-draft-text");
    this.tip = part("tl-tip", { role: "presentation" });
    this.ring.hidden = this.draft.hidden = this.draftText.hidden = this.tip.hidden = true;
    this.painter = new Painter(this.canvas);
    this.input = new Input(this);
    this.keyboard = new Keyboard(this, this.input);
    this.resized = new ResizeObserver(() => this.measure());
    this.media = matchMedia("(forced-colors: active)");
    this.recolour = () => this.prepare();
  }

  connectedCallback() {
    this.stage.append(this.canvas, this.grid, this.ring, this.draft, this.draftText, this.tip);
    this.scroller.append(this.stage, this.space);
    this.append(this.scroller);
    this.scroller.addEventListener("scroll", () => this.schedule(), { passive: true });
    this.input.begin();
    this.keyboard.begin();
    this.resized.observe(this.scroller);
    this.media.addEventListener("change", this.recolour);
    document.fonts.ready.then(() => this.prepare());
    this.measure();
  }

  disconnectedCallback() {
    this.resized.disconnect();
    this.media.removeEventListener("change", this.recolour);
    cancelAnimationFrame(this.frame);
    this.frame = 0;
  }

  /** @param {State} state */
  set state(state) {
    const before = this.given;
    this.given = state;
    this.grid.setAttribute("aria-label", state.label);
    this.grid.setAttribute("aria-rowcount", String(state.layout.count));
    if (!before || before.view.from !== state.view.from || before.view.to !== state.view.to) this.view = { ...state.view };
    if (!before || before.theme !== state.theme) this.prepare();
    if (before?.layout !== state.layout || before.model !== state.model || before.zone !== state.zone) this.settle();
    this.schedule();
  }

  get scale() {
    return { ...this.view, width: Math.max(1, this.size.width - this.gutter) };
  }

  get gutter() {
    return this.size.width < 600 ? NARROW : GUTTER;
  }

  get scrolled() {
    return this.scroller.scrollTop;
  }

  /** Shows another part of time, and tells the page when it has come to rest. @param {{from: number, to: number}} view */
  show(view) {
    this.view = { from: view.from, to: view.to };
    clearTimeout(this.telling);
    this.telling = setTimeout(() => this.given?.moved(this.view), 120);
    this.schedule();
  }

  measure() {
    const { clientWidth: width, clientHeight: height } = this.scroller;
    if (!width || !height) return;
    const ratio = devicePixelRatio || 1;
    this.size = { width, height };
    this.canvas.width = Math.round(width * ratio);
    this.canvas.height = Math.round(height * ratio);
    this.canvas.style.width = `${width}px`;
    this.canvas.style.height = `${height}px`;
    this.stage.style.height = `${height}px`;
    this.prepare();
    this.settle();
  }

  prepare() {
    if (!this.isConnected) return;
    this.painter.prepare(readColours(this), devicePixelRatio || 1);
    this.schedule();
  }

  /** The scroll bar is as long as all rows. */
  settle() {
    const { given, size } = this;
    if (!given || !size.height) return;
    this.space.style.height = `${Math.max(0, AXIS + given.layout.height - size.height)}px`;
    if (this.cursor.row >= 0) this.tell();
    this.schedule();
  }

  schedule() {
    if (!this.frame && this.isConnected) this.frame = requestAnimationFrame(() => this.draw());
  }

  draw() {
    this.frame = 0;
    const { given, size } = this;
    if (!given || !size.width) return;
    this.painter.draw({
      model: given.model,
      layout: given.layout,
      scale: this.scale,
      gutter: this.gutter,
      height: size.height,
      scroll: this.scrolled,
      now: given.now,
      zone: given.zone,
      colour: given.colour,
      fare: given.fare,
      says: given.says,
      label: given.name,
      remark: given.remark,
    });
    this.mark();
    if (!this.drawn) {
      this.drawn = true;
      performance.mark("timeline-drawn");
    }
  }

  // ------------------------------------------------------------ places

  /** What is at a point of the stage. @param {number} x @param {number} y */
  at(x, y) {
    const { given } = this;
    const time = timeAt(this.scale, x - this.gutter);
    if (!given || y < AXIS) return { row: -1, time, axis: true, names: x < this.gutter };
    const line = lineAt(given.layout, y - AXIS + this.scrolled);
    return { row: line < 0 ? -1 : /** @type {number} */ (given.layout.row[line]), time, axis: false, names: x < this.gutter };
  }

  /** Where a row is on the stage. @param {number} row */
  box(row) {
    const { given } = this;
    const line = given ? lineOf(given.layout, row) : -1;
    if (!given || line < 0) return null;
    const top = /** @type {number} */ (given.layout.top[line]);
    return { top: AXIS + top - this.scrolled, height: /** @type {number} */ (given.layout.top[line + 1]) - top, line };
  }

  /** Rows between two heights of the stage. @param {number} one @param {number} other */
  rowsBetween(one, other) {
    const { given } = this;
    if (!given) return [];
    const [low, high] = [Math.min(one, other) - AXIS + this.scrolled, Math.max(one, other) - AXIS + this.scrolled];
    const { top, row, count } = given.layout;
    /** @type {number[]} */
    const rows = [];
    for (let line = Math.max(0, firstAbove(top, 0, count + 1, low) - 1); line < count && /** @type {number} */ (top[line]) <= high; line += 1) {
      if (/** @type {number} */ (row[line]) >= 0) rows.push(/** @type {number} */ (row[line]));
    }
    return rows;
  }

  // ------------------------------------------------------------ the keyboard's place

  /** Puts the keyboard on a row and a moment, in sight. @param {number} row @param {number} time */
  focusAt(row, time) {
    this.cursor = { row, time };
    const box = this.box(row);
    if (box) {
      const below = box.top + box.height - this.size.height;
      if (box.top < AXIS) this.scroller.scrollTop += box.top - AXIS;
      else if (below > 0) this.scroller.scrollTop += below;
    }
    const span = this.view.to - this.view.from;
    if (time < this.view.from || time > this.view.to) this.show({ from: Math.round(time - span / 4), to: Math.round(time - span / 4) + span });
    this.tell();
    this.schedule();
  }

  segment() {
    const { given, cursor } = this;
    return given && cursor.row >= 0 && cursor.row < given.model.rows ? this.input.segmentOf(cursor.row, cursor.time) : null;
  }

  /** Writes the one row that is there for screen readers. */
  tell() {
    const { given, cursor } = this;
    const segment = this.segment();
    this.grid.replaceChildren();
    this.grid.removeAttribute("aria-activedescendant");
    const line = given ? lineOf(given.layout, cursor.row) : -1;
    if (!given || !segment || line < 0) return;
    // Another id each time: the same one with another text is not read again.
    const id = `timeline-cell-${(this.cellNumber = (this.cellNumber + 1) % 1000)}`;
    const row = part("", { role: "row", "aria-rowindex": String(line + 1) });
    const head = part("", { role: "rowheader", "aria-colindex": "1" });
    const cell = part("", { role: "gridcell", id, "aria-colindex": "2" });
    head.textContent = given.name(cursor.row);
    cell.textContent = `${given.name(cursor.row)}, ${given.describe(cursor.row, segment)}`;
    if (isShared(given.model.steps, cursor.row)) cell.setAttribute("aria-expanded", String(given.layout.open.has(cursor.row)));
    row.append(head, cell);
    this.grid.append(row);
    this.grid.setAttribute("aria-activedescendant", id);
  }

  /** Puts the ring around what the keyboard is on. */
  mark() {
    const segment = this.byKeys && document.activeElement === this.grid ? this.segment() : null;
    const box = segment ? this.box(this.cursor.row) : null;
    this.ring.hidden = !segment || !box || box.top + box.height < AXIS;
    if (!segment || !box || this.ring.hidden) return;
    const scale = this.scale;
    const x0 = Math.max(0, place(scale, segment.start));
    const x1 = Math.min(scale.width, place(scale, segment.end));
    this.put(this.ring, this.gutter + x0, box.top, Math.max(3, x1 - x0), Math.max(3, box.height));
  }

  /** @param {HTMLElement} element @param {number} x @param {number} y @param {number} [width] @param {number} [height] */
  put(element, x, y, width, height) {
    element.style.transform = `translate(${Math.round(x)}px, ${Math.round(y)}px)`;
    if (width !== undefined) element.style.width = `${Math.round(width)}px`;
    if (height !== undefined) element.style.height = `${Math.round(height)}px`;
  }
}

customElements.define("leasehold-timeline", TimelineElement);
