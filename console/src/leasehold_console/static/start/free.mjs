// How many are free, as a strip of time. Pure.

import { parse } from "../core/time.mjs";

/** @typedef {{at: number, free: number}} Step in milliseconds; what is free from then on */

/**
 * The steps of an answer about availability.
 * @param {import("../../../../types/api").StepsAnswer} steps
 * @returns {Step[]}
 */
export function stepsOf({ from, free }) {
  return from.map((at, index) => ({ at: parse(at), free: free[index] ?? 0 }));
}

/** When one is free for the first time, null: never. @param {readonly Step[]} steps */
export function nextFree(steps) {
  return steps.find((step) => step.free > 0)?.at ?? null;
}

/**
 * The outline of what is free over [start, end) in a box, for the `d` of an SVG path: high where much is free.
 * @param {readonly Step[]} steps @param {{start: number, end: number, total: number, width: number, height: number}} box
 */
export function outline(steps, { start, end, total, width, height }) {
  /** @param {number} at */
  const x = (at) => Math.round(((Math.min(Math.max(at, start), end) - start) / (end - start)) * width * 10) / 10;
  /** @param {number} free */
  const y = (free) => Math.round((1 - (total ? free / total : 0)) * height * 10) / 10;
  const parts = [`M0 ${height}`];
  for (const { at, free } of steps) parts.push(`H${x(at)}`, `V${y(free)}`);
  return `${parts.join("")}H${width}V${height}Z`;
}
