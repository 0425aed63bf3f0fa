// Pointer, fingers and wheel of the picture.

import { segmentAt } from "./bars.mjs";
import { draftOf, extensionOf, isFree } from "./draft.mjs";
import { canClose, windowOf } from "./maintenance.mjs";
import { AXIS } from "./sizes.mjs";
import { panned, perPixel, place, snap, zoomed } from "./scale.mjs";
import { isShared } from "./steps.mjs";

const EDGE = 6;
const STILL = 4;
const OWN = new Set(["mine", "project"]);

/**
 * What the pointer does while it is down.
 * @typedef {{x: number, y: number, moved: boolean, touch: boolean} & (
 *   {kind: "pan", view: {from: number, to: number}} |
 *   {kind: "pinch", view: {from: number, to: number}, apart: number} |
 *   {kind: "draft", row: number, anchor: number, draft: import("./draft.mjs").Draft | null} |
 *   {kind: "extend", lease: number, row: number, end: number})} Grip
 */

export class Input {
  /** @param {import("./element.mjs").TimelineElement} element */
  constructor(element) {
    this.element = element;
    /** @type {Grip | null} */
    this.grip = null;
    /** Where the fingers are. @type {Map<number, {x: number, y: number}>} */
    this.fingers = new Map();
  }

  begin() {
    const { canvas } = this.element;
    canvas.addEventListener("pointerdown", (event) => this.down(event));
    canvas.addEventListener("pointermove", (event) => this.move(event));
    canvas.addEventListener("pointerup", (event) => this.up(event));
    canvas.addEventListener("pointercancel", (event) => this.lift(event));
    canvas.addEventListener("pointerleave", () => this.hover(null));
    canvas.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
  }

  /** The part of a row at a moment, within what is known. @param {number} row @param {number} time */
  segmentOf(row, time) {
    const given = /** @type {import("./element.mjs").State} */ (this.element.given);
    const { model } = given;
    const segment = segmentAt(model.bars, row, time, model.cleaning[row] ?? 0);
    return { ...segment, start: Math.max(segment.start, model.from), end: Math.min(segment.end, model.to) };
  }

  /** Whether a drag that begins there makes something. @param {number} row @param {number} time */
  begins(row, time) {
    const { given } = this.element;
    if (!given?.makes) return false;
    return given.makes === "lease" ? isFree(given.model, row, time, given.now) : canClose(given.model, row);
  }

  /** What a drag from one moment to another makes. @param {number[]} rows @param {number} anchor @param {number} pointer */
  drafted(rows, anchor, pointer) {
    const { model, makes, now } = /** @type {import("./element.mjs").State} */ (this.element.given);
    return (makes === "lease" ? draftOf : windowOf)(model, rows, anchor, pointer, snap(this.element.scale), now);
  }

  // ------------------------------------------------------------ pointer

  /** @param {PointerEvent | WheelEvent} event */
  point(event) {
    const box = this.element.canvas.getBoundingClientRect();
    return { x: event.clientX - box.left, y: event.clientY - box.top };
  }

  /** The lease whose end is under the pointer, or -1. @param {number} x @param {number} row */
  edgeAt(x, row) {
    const { given, scale, gutter } = this.element;
    if (given?.makes !== "lease" || row < 0) return -1;
    const reach = EDGE * perPixel(scale);
    const time = scale.from + (x - gutter) * perPixel(scale);
    for (const near of [time - reach, time, time - reach / 2]) {
      const { bar } = segmentAt(given.model.bars, row, near, 0);
      const lease = bar < 0 ? -1 : /** @type {number} */ (given.model.leaseOf[bar]);
      const found = given.model.leases[lease];
      if (!found || given.model.kinds[bar] !== "lease" || !OWN.has(found.whose) || found.end === null) continue;
      if (Math.abs(place(scale, found.end) + gutter - x) <= EDGE && found.end > given.now) return lease;
    }
    return -1;
  }

  /** @param {PointerEvent} event */
  down(event) {
    const { element } = this;
    const { given } = element;
    if (!given || (event.button !== 0 && event.button !== 1)) return;
    const { x, y } = this.point(event);
    const { row, time, axis, names } = element.at(x, y);
    const touch = event.pointerType === "touch";
    const base = { x, y, moved: false, touch };
    element.canvas.setPointerCapture(event.pointerId);
    if (touch) this.fingers.set(event.pointerId, { x, y });
    if (this.fingers.size === 2) {
      this.drop();
      const [one, other] = this.pair();
      this.grip = { ...base, x: (one.x + other.x) / 2, moved: true, kind: "pinch", view: { ...element.view }, apart: Math.abs(one.x - other.x) };
      return;
    }
    const pan = axis || names || event.button === 1 || event.shiftKey || touch || row < 0;
    const edge = pan ? -1 : this.edgeAt(x, row);
    if (edge >= 0) this.grip = { ...base, kind: "extend", lease: edge, row, end: given.model.leases[edge]?.end ?? time };
    else if (!pan && this.begins(row, time)) this.grip = { ...base, kind: "draft", row, anchor: time, draft: null };
    else this.grip = { ...base, kind: "pan", view: { ...element.view } };
    this.hover(null);
    event.preventDefault();
    this.byKeys(false);
    element.grid.focus({ preventScroll: true });
  }

  /** @param {boolean} used whether it was the keyboard that was used */
  byKeys(used) {
    this.element.byKeys = used;
    this.element.grid.classList.toggle("tl-by-keys", used);
    this.element.schedule();
  }

  /** @param {PointerEvent} event */
  move(event) {
    const { element, grip } = this;
    const { x, y } = this.point(event);
    if (this.fingers.has(event.pointerId)) this.fingers.set(event.pointerId, { x, y });
    if (!grip) return this.hover(event.pointerType === "touch" ? null : { x, y });
    if (grip.kind === "pinch") return this.pinch(grip);
    if (Math.hypot(x - grip.x, y - grip.y) > STILL) grip.moved = true;
    if (!grip.moved || !element.given) return;
    const { model, now } = element.given;
    if (grip.kind === "pan") {
      element.show(panned({ ...grip.view, width: element.scale.width }, grip.x - x));
      if (grip.touch) element.scroller.scrollTop -= event.movementY;
      return;
    }
    const { time } = element.at(x, y);
    if (grip.kind === "draft") {
      grip.draft = this.drafted(element.rowsBetween(Math.max(AXIS, grip.y), Math.max(AXIS, y)), grip.anchor, time);
      this.showDraft(grip.draft, x, y);
    } else {
      const { end, stop } = extensionOf(model, grip.lease, time, snap(element.scale), now);
      grip.end = end;
      this.showEnd(grip, stop, x, y);
    }
  }

  /** @param {PointerEvent} event */
  up(event) {
    const { element, grip } = this;
    const { given } = element;
    this.lift(event);
    if (!grip || !given || grip.kind === "pinch") return;
    const { x, y } = this.point(event);
    const { row, time, axis, names } = element.at(x, y);
    if (grip.moved) {
      if (grip.kind === "draft" && grip.draft?.rows.length) given.drafted(grip.draft);
      if (grip.kind === "extend") given.extended(grip.lease, grip.end);
      return;
    }
    if (axis || row < 0) return;
    if (names) {
      if (isShared(given.model.steps, row)) given.toggled(row);
      return;
    }
    element.focusAt(row, time);
    const { bar } = this.segmentOf(row, time);
    const lease = bar < 0 ? -1 : /** @type {number} */ (given.model.leaseOf[bar]);
    if (lease >= 0) given.chosen(lease);
    else if (isShared(given.model.steps, row)) given.toggled(row);
    else if ((grip.touch || event.detail === 2) && this.begins(row, time)) this.propose(row, time);
  }

  /** The two fingers. @returns {[{x: number, y: number}, {x: number, y: number}]} */
  pair() {
    const [one = { x: 0, y: 0 }, other = one] = this.fingers.values();
    return [one, other];
  }

  /** Shows more or less time, as far as the fingers have moved apart. @param {Extract<Grip, {kind: "pinch"}>} grip */
  pinch(grip) {
    const { element } = this;
    const [one, other] = this.pair();
    const factor = Math.max(20, grip.apart) / Math.max(20, Math.abs(one.x - other.x));
    element.show(zoomed({ ...grip.view, width: element.scale.width }, factor, Math.max(0, grip.x - element.gutter)));
  }

  /** @param {PointerEvent} event */
  lift(event) {
    this.fingers.delete(event.pointerId);
    this.drop();
  }

  drop() {
    this.grip = null;
    const { draft, draftText } = this.element;
    draft.hidden = draftText.hidden = true;
  }

  /** A lease, or a maintenance window, of a usual length from a moment on. @param {number} row @param {number} time */
  propose(row, time) {
    const step = snap(this.element.scale);
    this.element.given?.drafted(this.drafted([row], time, Math.floor(time / step) * step + 4 * step));
  }

  /** @param {import("./draft.mjs").Draft} draft @param {number} x @param {number} y */
  showDraft(draft, x, y) {
    const { element } = this;
    const boxes = draft.rows.map((row) => element.box(row)).filter((box) => box !== null);
    element.draft.hidden = element.draftText.hidden = !boxes.length;
    if (!boxes.length) return;
    const top = Math.min(...boxes.map((box) => box.top));
    const bottom = Math.max(...boxes.map((box) => box.top + box.height));
    this.hold(draft.start, draft.end, top, bottom, draft.stop !== null, element.given?.describeDraft(draft) ?? "", x, y);
  }

  /** @param {Extract<Grip, {kind: "extend"}>} grip @param {import("./draft.mjs").Stop | null} stop @param {number} x @param {number} y */
  showEnd(grip, stop, x, y) {
    const { element } = this;
    const box = element.box(grip.row);
    const lease = element.given?.model.leases[grip.lease];
    if (!box || !lease || lease.end === null) return;
    element.draft.hidden = element.draftText.hidden = false;
    const text = element.given?.describeEnd(grip.lease, grip.end, stop) ?? "";
    this.hold(Math.min(lease.end, grip.end), Math.max(lease.end, grip.end), box.top, box.top + box.height, stop !== null, text, x, y);
  }

  /** @param {number} start @param {number} end @param {number} top @param {number} bottom @param {boolean} stopped @param {string} text @param {number} x @param {number} y */
  hold(start, end, top, bottom, stopped, text, x, y) {
    const { element } = this;
    const { scale, gutter, draft, draftText, size } = element;
    const x0 = gutter + place(scale, start);
    const x1 = gutter + place(scale, end);
    element.put(draft, x0, top, Math.max(2, x1 - x0), bottom - top);
    draft.classList.toggle("stopped", stopped);
    draftText.textContent = text;
    draftText.classList.toggle("stopped", stopped);
    element.put(draftText, Math.max(8, Math.min(size.width - draftText.offsetWidth - 8, x + 12)), y + 56 > size.height ? y - 50 : y + 18);
  }

  /** @param {{x: number, y: number} | null} point */
  hover(point) {
    const { element } = this;
    const { tip, canvas, given, size } = element;
    tip.hidden = true;
    if (!point || !given) return;
    const { row, time, axis, names } = element.at(point.x, point.y);
    if (axis || row < 0 || (names && !isShared(given.model.steps, row))) {
      canvas.style.cursor = axis ? "ew-resize" : "default";
      return;
    }
    const segment = this.segmentOf(row, time);
    const lease = segment.bar < 0 ? -1 : /** @type {number} */ (given.model.leaseOf[segment.bar]);
    const drawn = this.begins(row, time) && !names;
    canvas.style.cursor = drawn ? "crosshair" : names || lease >= 0 ? "pointer" : "grab";
    if (this.edgeAt(point.x, row) >= 0) canvas.style.cursor = "ew-resize";
    tip.textContent = `${given.name(row)}\n${given.describe(row, segment)}`;
    tip.hidden = false;
    const { offsetWidth: width, offsetHeight: height } = tip;
    element.put(tip, Math.max(4, Math.min(size.width - width - 8, point.x + 14)), point.y + height + 24 > size.height ? point.y - height - 10 : point.y + 18);
  }

  /** @param {WheelEvent} event */
  wheel(event) {
    const { element } = this;
    const { x, y } = this.point(event);
    const unit = event.deltaMode === 1 ? 16 : 1;
    this.hover(null);
    if (event.ctrlKey || event.metaKey || y < AXIS) {
      event.preventDefault();
      element.show(zoomed(element.scale, Math.exp(event.deltaY * unit * (event.ctrlKey ? 0.006 : 0.002)), Math.max(0, x - element.gutter)));
    } else if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
      event.preventDefault();
      element.show(panned(element.scale, (event.deltaX || event.deltaY) * unit));
    }
  }
}
