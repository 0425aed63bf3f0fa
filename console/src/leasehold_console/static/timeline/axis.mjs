// The axis of the picture: its marks, and what is named above them.

import * as time from "../core/time.mjs";
import { AXIS, BOLD, SMALL } from "./sizes.mjs";
import { perPixel, place, ticks } from "./scale.mjs";

/** @typedef {import("./draw.mjs").Scene} Scene */
/** @typedef {import("./draw.mjs").Painter} Painter */

/** Calls a function for each mark of the axis. @param {Scene} scene @param {(x: number, moment: number) => void} mark */
export function eachMark({ scale, zone }, mark) {
  const { step } = ticks(scale);
  const day = 86400;
  // Midnights of the zone, and steps from each: a change of the clocks moves no mark to another name.
  let midnight = time.dayStart(scale.from * 1000, zone) / 1000;
  if (step > day) midnight -= ((Math.round(midnight / day) - 4) % (step / day)) * day;
  for (let guard = 0; guard < 800 && midnight < scale.to; guard += 1) {
    const next = time.dayStart((midnight + Math.max(day, step) + 7200) * 1000, zone) / 1000;
    for (let moment = midnight; moment < (step > day ? midnight + 1 : next) && moment < scale.to; moment += step) {
      if (moment >= scale.from) mark(place(scale, moment), moment);
    }
    midnight = next;
  }
}

/** Days and hours, or months and days, and where now is. @param {Painter} painter @param {Scene} scene */
export function drawAxis(painter, scene) {
  const { context, colours } = painter;
  const { scale, gutter, zone, now } = scene;
  if (!colours) return;
  const whole = gutter + scale.width;
  const { label, above } = ticks(scale);
  const write = label === "clock" ? time.clock : label === "weekday" ? time.weekday : time.day;
  context.fillStyle = colours.surface;
  context.fillRect(0, 0, whole, AXIS);
  context.textBaseline = "middle";
  context.font = SMALL;
  context.fillStyle = colours.muted;
  eachMark(scene, (x, moment) => {
    if (x > scale.width - 20) return;
    context.fillStyle = colours.border;
    context.fillRect(gutter + Math.round(x), AXIS - 8, 1, 8);
    context.fillStyle = colours.muted;
    context.fillText(write(moment * 1000, zone), gutter + Math.round(x) + 4, AXIS - 12);
  });
  context.font = BOLD;
  context.fillStyle = colours.text;
  eachAbove(painter, scene, above, (x, text) => context.fillText(text, gutter + x + 4, 14));
  const x = place(scale, now);
  if (x >= 0 && x <= scale.width) {
    context.fillStyle = colours.now;
    context.beginPath();
    context.roundRect(gutter + x - 2.5, AXIS - 7, 5, 7, 2);
    context.fill();
  }
  context.fillStyle = colours.border;
  context.fillRect(0, AXIS - 1, whole, 1);
  context.fillStyle = colours.surface;
  context.fillRect(0, 0, gutter - 1, AXIS - 1);
  context.fillStyle = colours.border;
  context.fillRect(gutter - 1, 0, 1, AXIS);
  context.font = SMALL;
  context.fillStyle = colours.muted;
  context.fillText(zone === "UTC" ? "UTC" : time.offset(zone, scale.from * 1000), 12, AXIS - 12);
}

/** The days or months above the marks: the first one stays in sight, and each has room. @param {Painter} painter @param {Scene} scene @param {"day" | "month"} unit @param {(x: number, text: string) => void} write */
function eachAbove(painter, { scale, zone }, unit, write) {
  const width = perPixel(scale);
  let shown = { x: 0, text: "" };
  let at = time.dayStart(scale.from * 1000, zone) / 1000;
  for (let guard = 0; guard < 200 && at < scale.to; guard += 1) {
    const moment = Math.max(at, scale.from) * 1000;
    const text = unit === "month" ? time.month(moment, zone) : `${time.weekday(moment, zone).split(" ")[0]} ${time.day(moment, zone)}`;
    if (text !== shown.text) {
      const x = Math.max(0, (at - scale.from) / width);
      if (shown.text && x - shown.x > painter.width(shown.text) + 12) write(shown.x, shown.text);
      shown = { x, text };
    }
    at = time.dayStart((at + 86400 + 7200) * 1000, zone) / 1000;
  }
  if (scale.width - shown.x > painter.width(shown.text) + 8) write(shown.x, shown.text);
}
