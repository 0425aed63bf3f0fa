// Keys of the picture: they go from part to part of a row and from row to row, and do what the pointer does.

import { rowFrom } from "./layout.mjs";
import { place, zoomed } from "./scale.mjs";
import { AXIS } from "./sizes.mjs";
import { isShared } from "./steps.mjs";

const OWN = new Set(["mine", "project"]);

export class Keyboard {
  /** @param {import("./element.mjs").TimelineElement} element @param {import("./input.mjs").Input} input */
  constructor(element, input) {
    this.element = element;
    this.input = input;
  }

  begin() {
    const { grid } = this.element;
    grid.addEventListener("keydown", (event) => this.key(event));
    grid.addEventListener("focus", () => this.enter());
    grid.addEventListener("blur", () => this.input.byKeys(true));
  }

  /** The keyboard comes in: to where it was, or to the first row in sight. */
  enter() {
    const { element } = this;
    const { given } = element;
    if (given && element.byKeys && element.segment() === null) {
      const rows = element.rowsBetween(AXIS + 1, element.size.height);
      const first = rows[0];
      if (first !== undefined) element.focusAt(first, Math.max(element.view.from, Math.min(given.now, element.view.to)));
    }
    element.schedule();
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    if (event.altKey || event.ctrlKey || event.metaKey || event.key === "Shift" || event.key === "Tab") return;
    this.input.byKeys(true);
    if (this.element.segment() === null) this.enter();
    else if (!this.step(event.key) && !this.act(event.key)) return;
    event.preventDefault();
  }

  /** Goes elsewhere; says whether the key means that. @param {string} key */
  step(key) {
    const { element } = this;
    const { given, cursor } = element;
    const segment = element.segment();
    if (!given || !segment) return false;
    const box = element.box(cursor.row);
    const span = element.view.to - element.view.from;
    const page = Math.max(1, Math.floor((element.size.height - AXIS) / Math.max(1, given.layout.rowHeight)) - 1);
    /** @type {Record<string, () => void>} */
    const ways = {
      ArrowRight: () => this.beside(segment.end, 1),
      ArrowLeft: () => this.beside(segment.start - 1, -1),
      ArrowDown: () => this.line(box?.line ?? 0, 1),
      ArrowUp: () => this.line(box?.line ?? 0, -1),
      PageDown: () => this.line(box?.line ?? 0, page),
      PageUp: () => this.line(box?.line ?? 0, -page),
      Home: () => element.focusAt(cursor.row, given.now),
      End: () => element.focusAt(cursor.row, element.view.to - 1),
      "+": () => element.show(zoomed(element.scale, 0.5, place(element.scale, cursor.time))),
      "-": () => element.show(zoomed(element.scale, 2, place(element.scale, cursor.time))),
      "[": () => element.show({ from: element.view.from - Math.round(span / 2), to: element.view.to - Math.round(span / 2) }),
      "]": () => element.show({ from: element.view.from + Math.round(span / 2), to: element.view.to + Math.round(span / 2) }),
    };
    ways[key]?.();
    return key in ways;
  }

  /** To the part of the row beside this one; what is only cleaning is passed over. @param {number} time @param {1 | -1} way */
  beside(time, way) {
    const { element } = this;
    const given = /** @type {import("./element.mjs").State} */ (element.given);
    let at = time;
    for (let guard = 0; guard < 4; guard += 1) {
      if (at < given.model.from || at >= given.model.to) return;
      const segment = this.input.segmentOf(element.cursor.row, at);
      if (segment.kind !== "cleaning") break;
      at = way > 0 ? segment.end : segment.start - 1;
    }
    element.focusAt(element.cursor.row, at);
  }

  /** @param {number} line @param {number} by */
  line(line, by) {
    const { element } = this;
    const { layout } = /** @type {import("./element.mjs").State} */ (element.given);
    const row = layout.row[rowFrom(layout, line, by)];
    if (row !== undefined && row >= 0) element.focusAt(row, element.cursor.time);
  }

  /** Does something with what the keyboard is on; says whether the key means that. @param {string} key */
  act(key) {
    const { element } = this;
    const { given, cursor } = element;
    const segment = element.segment();
    if (!given || !segment) return false;
    const lease = segment.bar < 0 ? -1 : /** @type {number} */ (given.model.leaseOf[segment.bar]);
    if (key === "Enter" || key === " ") {
      const from = Math.max(segment.start, given.now + 1);
      const at = Math.max(cursor.time, from);
      if (given.makes === "maintenance" && this.input.begins(cursor.row, at)) this.input.propose(cursor.row, at);
      else if (lease >= 0) given.chosen(lease);
      else if (isShared(given.model.steps, cursor.row)) given.toggled(cursor.row);
      else if (this.input.begins(cursor.row, at)) this.input.propose(cursor.row, at);
      return true;
    }
    if (key === "e" && lease >= 0 && OWN.has(given.model.leases[lease]?.whose ?? "")) {
      given.extended(lease, null);
      return true;
    }
    if (key === "o" && isShared(given.model.steps, cursor.row)) {
      given.toggled(cursor.row);
      return true;
    }
    return false;
  }
}
