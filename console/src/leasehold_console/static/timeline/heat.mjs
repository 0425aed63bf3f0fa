// The whole estate when rows are thinner than they can be told apart: the share of hosts that are taken, for each pixel.

import { highest, lowest } from "./bars.mjs";
import { rgb } from "./colours.mjs";
import { AXIS } from "./sizes.mjs";

const LINE = 2;
/** Reused from picture to picture. @type {{changes: Float32Array, counts: Float32Array, image: ImageData | null}} */
const kept = { changes: new Float32Array(0), counts: new Float32Array(0), image: null };

/** @param {import("./draw.mjs").Painter} painter @param {import("./draw.mjs").Scene} scene */
export function drawHeat(painter, scene) {
  const { model, layout, scale, gutter, height, scroll, now } = scene;
  const colours = painter.colours;
  if (!colours) return;
  const { bars } = model;
  const ratio = painter.ratio;
  const wide = Math.max(1, Math.floor(scale.width * ratio));
  const tall = Math.max(1, Math.floor((height - AXIS) * ratio));
  const lineTall = Math.max(1, Math.round(LINE * ratio));
  const lines = Math.ceil(tall / lineTall);
  const stride = wide + 1;
  if (kept.changes.length < lines * stride) kept.changes = new Float32Array(lines * stride);
  else kept.changes.fill(0, 0, lines * stride);
  if (kept.counts.length < lines) kept.counts = new Float32Array(lines);
  else kept.counts.fill(0);
  if (!kept.image || kept.image.width !== wide || kept.image.height !== tall) kept.image = painter.context.createImageData(wide, tall);
  const { changes, counts, image } = kept;
  const pixels = wide / (scale.to - scale.from);

  for (let at = 0; at < layout.count; at += 1) {
    const row = /** @type {number} */ (layout.row[at]);
    const line = Math.floor(((/** @type {number} */ (layout.top[at]) - scroll) * ratio) / lineTall);
    if (row < 0 || line < 0 || line >= lines) continue;
    counts[line] = /** @type {number} */ (counts[line]) + 1;
    const base = line * stride;
    if (model.closed[row]) {
      changes[base] = /** @type {number} */ (changes[base]) + 1;
      continue;
    }
    const high = highest(bars, row, scale.to);
    let covered = -1;
    for (let bar = lowest(bars, row, scale.from); bar < high; bar += 1) {
      const x0 = Math.max(covered, Math.max(0, Math.floor((/** @type {number} */ (bars.start[bar]) - scale.from) * pixels)));
      const x1 = Math.min(wide, Math.ceil((/** @type {number} */ (bars.end[bar]) - scale.from) * pixels));
      if (x1 <= x0) continue;
      changes[base + x0] = /** @type {number} */ (changes[base + x0]) + 1;
      changes[base + x1] = /** @type {number} */ (changes[base + x1]) - 1;
      covered = x1;
    }
  }

  const words = new Uint32Array(image.data.buffer);
  const ramp = rampOf(colours["heat-free"], colours["heat-taken"]);
  const empty = word(rgb(colours.surface));
  const gone = rampOf(colours.past, colours["heat-taken"]);
  const passed = Math.max(0, Math.min(wide, Math.round((now - scale.from) * pixels)));
  for (let line = 0; line < lines; line += 1) {
    const count = /** @type {number} */ (counts[line]);
    const base = line * stride;
    const out = line * lineTall * wide;
    if (count === 0) words.fill(empty, out, out + wide);
    else {
      let taken = 0;
      const step = 255 / count;
      for (let x = 0; x < wide; x += 1) {
        taken += /** @type {number} */ (changes[base + x]);
        words[out + x] = /** @type {number} */ ((x < passed ? gone : ramp)[(taken * step) | 0]);
      }
    }
    for (let more = 1; more < lineTall && line * lineTall + more < tall; more += 1) words.copyWithin(out + more * wide, out, out + wide);
  }
  painter.context.putImageData(image, Math.round(gutter * ratio), Math.round(AXIS * ratio));
  own(painter, scene);
  bands(painter, scene);
}

/** What is the caller's, thick enough to be found. @param {import("./draw.mjs").Painter} painter @param {import("./draw.mjs").Scene} scene */
function own({ context, colours }, { model, layout, scale, gutter, scroll, height }) {
  if (!colours) return;
  const pixels = scale.width / (scale.to - scale.from);
  context.beginPath();
  for (let at = 0; at < model.own.length; at += 2) {
    const bar = /** @type {number} */ (model.own[at]);
    const line = /** @type {number} */ (layout.line[/** @type {number} */ (model.own[at + 1])]);
    if (line < 0) continue;
    const y = AXIS + /** @type {number} */ (layout.top[line]) - scroll;
    const start = /** @type {number} */ (model.bars.start[bar]);
    const end = /** @type {number} */ (model.bars.end[bar]);
    if (end <= scale.from || start >= scale.to || y < AXIS - 2 || y > height) continue;
    context.rect(gutter + (Math.max(start, scale.from) - scale.from) * pixels, y, Math.max(2, (Math.min(end, scale.to) - Math.max(start, scale.from)) * pixels), Math.max(2, layout.rowHeight));
  }
  context.fillStyle = colours.mine;
  context.fill();
}

/** Names of the groups, and lines between them. @param {import("./draw.mjs").Painter} painter @param {import("./draw.mjs").Scene} scene */
function bands(painter, { layout, gutter, scale, scroll, height, says }) {
  const { context, colours } = painter;
  if (!colours) return;
  context.fillStyle = colours.surface;
  context.fillRect(0, AXIS, gutter, height - AXIS);
  context.textBaseline = "middle";
  let line = 0;
  let free = -Infinity;
  for (const group of layout.groups) {
    const top = AXIS + /** @type {number} */ (layout.top[line]) - scroll;
    line += group.rows.length;
    const bottom = AXIS + /** @type {number} */ (layout.top[line]) - scroll;
    if (bottom < AXIS || top > height) continue;
    context.fillStyle = colours.surface;
    context.fillRect(gutter, top - 0.5, scale.width, 1);
    const middle = Math.max(top, AXIS) + 8;
    if (middle < free) continue;
    free = middle + 14;
    context.font = '600 11px "Inter Variable", system-ui, sans-serif';
    context.fillStyle = colours.text;
    context.fillText(painter.cut(group.name, gutter - 20), 12, middle);
    if (bottom - top > 26) {
      context.font = '11px "Inter Variable", system-ui, sans-serif';
      context.fillStyle = colours.muted;
      context.fillText(painter.cut(says(group), gutter - 20), 12, middle + 14);
      free += 14;
    }
  }
  context.fillStyle = colours.border;
  context.fillRect(gutter - 1, AXIS, 1, height - AXIS);
}

/** @param {[number, number, number]} colour */
function word([red, green, blue]) {
  return ((255 << 24) | (blue << 16) | (green << 8) | red) >>> 0;
}

/** @type {Map<string, Uint32Array>} */
const ramps = new Map();

/** 256 colours from one to another, as words of the picture. @param {string} from @param {string} to */
function rampOf(from, to) {
  const key = `${from} ${to}`;
  let ramp = ramps.get(key);
  if (!ramp) {
    const [one, other] = [rgb(from), rgb(to)];
    ramp = Uint32Array.from({ length: 256 }, (_, at) => word(/** @type {[number, number, number]} */ (one.map((part, index) => Math.round(part + ((other[index] ?? 0) - part) * (at / 255))))));
    ramps.set(key, ramp);
  }
  return ramp;
}
