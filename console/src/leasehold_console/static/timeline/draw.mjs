// Draws the picture: rows, what is free, bars, the axis, now. One path for each colour, nothing made for each bar.

import { drawAxis, eachMark } from "./axis.mjs";
import { firstAbove, highest, lowest } from "./bars.mjs";
import { hatching } from "./colours.mjs";
import { drawHeat } from "./heat.mjs";
import { LANE } from "./layout.mjs";
import { ALL_LOOKS, Fares, MARKS } from "./looks.mjs";
import { drawGutter, drawNames } from "./names.mjs";
import { Rectangles } from "./rectangles.mjs";
import { place } from "./scale.mjs";
import { AXIS, HEATED, NAMED } from "./sizes.mjs";
import { isShared } from "./steps.mjs";

/** @typedef {import("./model.mjs").Model} Model */
/** @typedef {import("./layout.mjs").Layout} Layout */

/**
 * @typedef {object} Scene
 * @property {Model} model
 * @property {Layout} layout
 * @property {import("./scale.mjs").Scale} scale
 * @property {number} gutter the width of the names
 * @property {number} height of the whole picture
 * @property {number} scroll
 * @property {number} now seconds
 * @property {string} zone
 * @property {"whose" | "fare"} colour what the colours of bars say
 * @property {(group: import("./layout.mjs").Group) => string} says what the heading of a group says
 * @property {(lease: number) => string} fare how a lease fares, in words; "" if that needs none
 * @property {(row: number) => string} label the name of a row
 * @property {(row: number) => string} remark what is said beside the name
 */

export class Painter {
  /** @param {HTMLCanvasElement} canvas */
  constructor(canvas) {
    this.canvas = canvas;
    this.context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d", { alpha: false }));
    this.ratio = 1;
    this.free = new Rectangles();
    this.unclean = new Rectangles();
    this.closed = [new Rectangles(), new Rectangles()];
    this.looks = ALL_LOOKS.map(() => new Rectangles());
    this.fares = new Fares();
    this.steps = new Rectangles();
    this.ownSteps = new Rectangles();
    /** Widths of texts that were measured. @type {Map<string, number>} */
    this.widths = new Map();
  }

  /** @param {import("./colours.mjs").Colours} colours @param {number} ratio pixels of the device for each of ours */
  prepare(colours, ratio) {
    this.colours = colours;
    this.ratio = ratio;
    this.marks = {
      rising: hatching(this.context, colours.hatch, ratio, 1),
      falling: hatching(this.context, colours.hatch, ratio, -1),
      upright: hatching(this.context, colours.hatch, ratio, 0),
      fine: hatching(this.context, colours.muted, ratio, -1),
    };
    this.widths.clear();
  }

  /** @param {string} text */
  width(text) {
    let width = this.widths.get(text);
    if (width === undefined) {
      if (this.widths.size > 20_000) this.widths.clear();
      width = this.context.measureText(text).width;
      this.widths.set(text, width);
    }
    return width;
  }

  /** @param {Scene} scene */
  draw(scene) {
    const { context, colours, ratio } = this;
    if (!colours) return;
    const { scale, gutter, height } = scene;
    const whole = gutter + scale.width;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.fillStyle = colours.row;
    context.fillRect(0, 0, whole, height);
    context.save();
    context.beginPath();
    context.rect(0, AXIS, whole, height - AXIS);
    context.clip();
    if (scene.layout.rowHeight < HEATED) {
      drawHeat(this, scene);
      this.nowLine(scene);
    } else this.rows(scene);
    context.restore();
    drawAxis(this, scene);
  }

  /** @param {Scene} scene */
  rows(scene) {
    const { layout, scroll, height } = scene;
    this.clear();
    const first = Math.max(0, firstAbove(layout.top, 0, layout.count + 1, scroll) - 1);
    let last = first;
    for (; last < layout.count && /** @type {number} */ (layout.top[last]) < scroll + height - AXIS; last += 1) {
      const row = /** @type {number} */ (layout.row[last]);
      if (row >= 0) this.collect(scene, row, AXIS + /** @type {number} */ (layout.top[last]) - scroll, /** @type {number} */ (layout.top[last + 1]) - /** @type {number} */ (layout.top[last]));
    }
    this.paint(scene);
    if (layout.rowHeight >= NAMED) drawNames(this, scene, first, last);
    this.nowLine(scene);
    drawGutter(this, scene, first, last);
  }

  clear() {
    this.free.size = this.unclean.size = this.steps.size = this.ownSteps.size = 0;
    for (const each of this.closed) each.size = 0;
    for (const each of this.looks) each.size = 0;
  }

  /** Collects the rectangles of one row. @param {Scene} scene @param {number} row @param {number} y @param {number} rowHeight */
  collect(scene, row, y, rowHeight) {
    const { model, scale, now, layout, gutter } = scene;
    const { bars } = model;
    const pad = rowHeight >= NAMED ? 2 : rowHeight > 5 ? 1 : 0;
    const top = y + pad;
    const tall = Math.max(1, rowHeight - 2 * pad);
    const cleaning = model.cleaning[row] ?? 0;
    const low = lowest(bars, row, scale.from - cleaning);
    const high = highest(bars, row, scale.to + cleaning);
    const lanes = layout.open.get(row);
    const shared = isShared(model.steps, row);
    const zero = gutter;
    const pixels = scale.width / (scale.to - scale.from);
    const base = bars.first[row] ?? 0;
    const closed = model.closed[row] ?? 0;
    let freeFrom = Math.max(scale.from, now);
    let mergedEnd = -1;
    let mergedLook = -1;
    const end = Math.min(scale.to, model.to);
    for (let bar = low; bar < high; bar += 1) {
      const start = /** @type {number} */ (bars.start[bar]);
      const stop = /** @type {number} */ (bars.end[bar]);
      if (!shared || lanes) {
        if (!shared && start - cleaning > freeFrom) this.available(closed, zero + (freeFrom - scale.from) * pixels, zero + (Math.min(start - cleaning, end) - scale.from) * pixels, top, tall);
        if (!shared && cleaning * pixels >= 2) {
          this.between(scene, Math.max(freeFrom, start - cleaning), start, top, tall);
          this.between(scene, stop, stop + cleaning, top, tall);
        }
        freeFrom = Math.max(freeFrom, stop + cleaning);
      }
      if (stop <= scale.from || start >= scale.to || (shared && !lanes && /** @type {number} */ (model.amountOf[bar]) >= 0)) continue;
      const look = this.fares.lookOf(model, scene.colour, bar);
      const x0 = zero + Math.max(-4, (start - scale.from) * pixels);
      const x1 = zero + Math.min(scale.width + 4, (stop - scale.from) * pixels);
      const target = /** @type {Rectangles} */ (this.looks[look]);
      if (lanes) {
        const lane = /** @type {number} */ (lanes.of[bar - base]);
        target.add(x0, y + 1 + lane * LANE, Math.max(1, x1 - x0 - 0.5), LANE - 2);
      } else if (mergedLook === look && x0 - mergedEnd < 0.5) {
        // Bars closer than half a pixel are one.
        target.data[target.size - 2] = Math.max(/** @type {number} */ (target.data[target.size - 2]), x1 - /** @type {number} */ (target.data[target.size - 4]));
      } else target.add(x0, top, Math.max(0.75, x1 - x0 - (rowHeight >= NAMED ? 1 : 0)), tall);
      mergedEnd = x1;
      mergedLook = look;
    }
    if (shared) this.silhouette(scene, row, top, tall, lanes !== undefined);
    else if (!shared && freeFrom < end) this.available(closed, zero + (freeFrom - scale.from) * pixels, zero + (end - scale.from) * pixels, top, tall);
  }

  /** What has to be clean between two leases. @param {Scene} scene @param {number} from @param {number} to @param {number} y @param {number} tall */
  between({ scale, gutter, now }, from, to, y, tall) {
    const start = Math.max(from, now, scale.from);
    const end = Math.min(to, scale.to);
    const pixels = scale.width / (scale.to - scale.from);
    if (end > start) this.unclean.add(gutter + (start - scale.from) * pixels, y, (end - start) * pixels, tall);
  }

  /** What no bar takes: free, or of a host that is not to be had. @param {number} closed @param {number} x0 @param {number} x1 @param {number} y @param {number} tall */
  available(closed, x0, x1, y, tall) {
    if (x1 > x0) (closed ? /** @type {Rectangles} */ (this.closed[closed - 1]) : this.free).add(x0, y, x1 - x0, tall);
  }

  /**
   * How much of a shared row is used: steps from below, what is free above them. Where the row is opened into lanes, these
   * show what is used, and behind them is where anything is free.
   * @param {Scene} scene @param {number} row @param {number} top @param {number} tall @param {boolean} opened
   */
  silhouette(scene, row, top, tall, opened) {
    const { model, scale, gutter, now } = scene;
    const { steps } = model;
    const low = /** @type {number} */ (steps.first[row]);
    const high = /** @type {number} */ (steps.first[row + 1]);
    const closed = model.closed[row] ?? 0;
    const pixels = scale.width / (scale.to - scale.from);
    const end = Math.min(scale.to, model.to);
    let at = Math.max(low - 1, firstAbove(steps.time, low, high, scale.from) - 1);
    for (let from = scale.from; at < high; at += 1) {
      const until = at + 1 < high ? /** @type {number} */ (steps.time[at + 1]) : Infinity;
      const share = at < low ? 0 : /** @type {number} */ (steps.share[at]);
      const to = Math.min(end, until);
      if (to > from) {
        const x0 = gutter + (from - scale.from) * pixels;
        const x1 = gutter + (to - scale.from) * pixels;
        const parts = at < low ? 0 : /** @type {number} */ (steps.parts[at]) * tall;
        const own = at < low ? 0 : /** @type {number} */ (steps.own[at]) * tall;
        // Mine stand at the bottom, what others use on top of them.
        if (own > 0 && !opened) this.ownSteps.add(x0, top + tall - own, x1 - x0, own);
        if (parts > own && !opened) this.steps.add(x0, top + tall - parts, x1 - x0, parts - own);
        const later = Math.max(from, now);
        if (share < 1 && to > later) this.available(closed, gutter + (later - scale.from) * pixels, x1, top, opened ? tall : tall * (1 - share));
      }
      from = Math.max(from, to);
      if (until >= end) break;
    }
  }

  /** Fills what was collected. @param {Scene} scene */
  paint(scene) {
    const { context } = this;
    const colours = /** @type {import("./colours.mjs").Colours} */ (this.colours);
    const radius = scene.layout.rowHeight >= NAMED ? 3 : 0;
    this.past(scene);
    this.fill(this.free, colours.free, radius);
    this.fill(this.unclean, colours.after, 0, ["fine"]);
    this.fill(/** @type {Rectangles} */ (this.closed[0]), colours.broken, radius, MARKS.broken);
    this.fill(/** @type {Rectangles} */ (this.closed[1]), colours.closed, radius, MARKS.closed);
    this.grid(scene);
    this.fill(this.steps, colours.taken, 0);
    this.fill(this.ownSteps, colours.mine, 0);
    for (const [number, look] of ALL_LOOKS.entries()) {
      const colour = look === "offer" ? colours.project : colours[look];
      this.fill(/** @type {Rectangles} */ (this.looks[number]), colour, radius, MARKS[look]);
    }
    context.globalAlpha = 1;
  }

  /** @param {Rectangles} shapes @param {string} colour @param {number} radius @param {readonly (import("./looks.mjs").Mark | "fine")[]} [marks] what lies over it */
  fill(shapes, colour, radius, marks = []) {
    if (!shapes.size) return;
    shapes.trace(this.context, radius);
    this.context.fillStyle = colour;
    this.context.fill();
    for (const mark of marks) {
      if (!this.marks) return;
      this.context.fillStyle = this.marks[mark];
      this.context.fill();
    }
  }

  /** @param {Scene} scene */
  past({ scale, now, gutter, height }) {
    const x = Math.min(scale.width, place(scale, now));
    if (x <= 0 || !this.colours) return;
    this.context.fillStyle = this.colours.past;
    this.context.fillRect(gutter, AXIS, x, height - AXIS);
  }

  /** @param {Scene} scene */
  grid(scene) {
    const { context, colours } = this;
    const { gutter, height } = scene;
    if (!colours) return;
    context.beginPath();
    eachMark(scene, (x) => context.rect(gutter + Math.round(x), AXIS, 1, height));
    context.fillStyle = colours.grid;
    context.globalAlpha = 0.55;
    context.fill();
    context.globalAlpha = 1;
  }

  /** @param {Scene} scene */
  nowLine({ scale, now, gutter, height }) {
    const x = place(scale, now);
    if (x < 0 || x > scale.width || !this.colours) return;
    this.context.fillStyle = this.colours.now;
    this.context.fillRect(gutter + Math.round(x) - 0.5, AXIS, 1.5, height - AXIS);
  }

  /** As much of a text as has room. @param {string} text @param {number} room */
  cut(text, room) {
    if (this.width(text) <= room) return text;
    let length = text.length - 1;
    while (length > 1 && this.width(`${text.slice(0, length)}…`) > room) length -= 1;
    return `${text.slice(0, length)}…`;
  }
}
