// The words of the picture: names on bars, names of rows, headings of groups.

import { highest, lowest } from "./bars.mjs";
import { HEADING, LANE } from "./layout.mjs";
import { LOOKS } from "./model.mjs";
import { AXIS, BOLD, FONT, NAMED, NARROW, SMALL } from "./sizes.mjs";
import { isShared } from "./steps.mjs";

/** @typedef {import("./draw.mjs").Scene} Scene */
/** @typedef {import("./draw.mjs").Painter} Painter */

/** What is written on a bar of a lease: its name, and how it fares if the colours say that. @param {Scene} scene @param {number} lease */
function nameOn({ model, colour, fare }, lease) {
  const name = model.leases[lease]?.name ?? "";
  const said = name && colour === "fare" ? fare(lease) : "";
  return said ? `${name}, ${said}` : name;
}

/** Names on the bars where they fit. @param {Painter} painter @param {Scene} scene @param {number} first @param {number} last */
export function drawNames(painter, scene, first, last) {
  const { context, colours } = painter;
  const { model, layout, scale, scroll, gutter } = scene;
  if (!colours) return;
  const { bars } = model;
  const mine = LOOKS.indexOf("mine");
  const project = LOOKS.indexOf("project");
  const pixels = scale.width / (scale.to - scale.from);
  context.font = SMALL;
  context.textBaseline = "middle";
  for (let line = first; line < last; line += 1) {
    const row = /** @type {number} */ (layout.row[line]);
    if (row < 0) continue;
    const lanes = layout.open.get(row);
    const parted = isShared(model.steps, row) && !lanes;
    const y = AXIS + /** @type {number} */ (layout.top[line]) - scroll;
    const middle = y + (/** @type {number} */ (layout.top[line + 1]) - /** @type {number} */ (layout.top[line])) / 2 + 0.5;
    const base = /** @type {number} */ (bars.first[row]);
    const high = highest(bars, row, scale.to);
    for (let bar = lowest(bars, row, scale.from); bar < high; bar += 1) {
      const lease = /** @type {number} */ (model.leaseOf[bar]);
      if (lease < 0 || (parted && /** @type {number} */ (model.amountOf[bar]) >= 0)) continue;
      const x0 = Math.max(0, (/** @type {number} */ (bars.start[bar]) - scale.from) * pixels);
      const x1 = Math.min(scale.width, (/** @type {number} */ (bars.end[bar]) - scale.from) * pixels);
      if (x1 - x0 < 24) continue;
      const name = nameOn(scene, lease);
      if (!name || painter.width(name) > x1 - x0 - 10) continue;
      const look = painter.fares.lookOf(model, scene.colour, bar);
      context.fillStyle = look >= LOOKS.length ? colours["fare-text"] : look === mine ? colours["mine-text"] : look === project ? colours["project-text"] : colours["taken-text"];
      context.fillText(name, gutter + x0 + 6, lanes ? y + /** @type {number} */ (lanes.of[bar - base]) * LANE + LANE / 2 : middle);
    }
  }
}

/** Names of rows and headings of groups. @param {Painter} painter @param {Scene} scene @param {number} first @param {number} last */
export function drawGutter(painter, scene, first, last) {
  const { context, colours } = painter;
  const { model, layout, scale, scroll, gutter, height } = scene;
  if (!colours) return;
  context.fillStyle = colours.surface;
  context.fillRect(0, AXIS, gutter, height - AXIS);
  context.textBaseline = "middle";
  for (let line = first; line < last; line += 1) {
    const row = /** @type {number} */ (layout.row[line]);
    const y = AXIS + /** @type {number} */ (layout.top[line]) - scroll;
    const tall = /** @type {number} */ (layout.top[line + 1]) - /** @type {number} */ (layout.top[line]);
    if (row < 0) {
      const group = layout.groups[-1 - row];
      context.fillStyle = colours.surface;
      context.fillRect(0, y, gutter + scale.width, tall);
      context.fillStyle = colours.border;
      context.fillRect(0, y + tall - 1, gutter + scale.width, 1);
      if (!group) continue;
      context.font = BOLD;
      context.fillStyle = colours.text;
      const says = scene.says(group);
      context.fillText(group.name || "–", 12, y + HEADING / 2 + 1);
      const wide = context.measureText(group.name || "–").width;
      context.font = SMALL;
      context.fillStyle = colours.muted;
      context.fillText(says, 12 + wide + 10, y + HEADING / 2 + 1);
    } else if (tall >= NAMED) {
      const closed = model.closed[row];
      context.font = FONT;
      const remark = gutter > NARROW || closed ? scene.remark(row) : "";
      const room = gutter - 20 - (remark ? painter.width(remark) + 6 : 0);
      context.fillStyle = closed ? colours.muted : colours.text;
      context.fillText(painter.cut(scene.label(row), room), 12, y + Math.min(tall, layout.rowHeight) / 2 + 0.5);
      if (remark) {
        context.fillStyle = colours.muted;
        context.fillText(remark, gutter - 8 - painter.width(remark), y + Math.min(tall, layout.rowHeight) / 2 + 0.5);
      }
    }
  }
  context.fillStyle = colours.border;
  context.fillRect(gutter - 1, AXIS, 1, height - AXIS);
}
