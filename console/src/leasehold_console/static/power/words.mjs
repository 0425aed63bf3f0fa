// Machines and what their sleep saves, as the page says it. Pure.

import { DAY } from "../core/time.mjs";

/** @typedef {import("../../../../types/api").MachineAnswer} Machine */
/** @typedef {import("../../../../types/api").SavedAnswer} Saved */

export const STAGES = /** @type {const} */ (["on", "closing", "stopping", "asleep", "waking", "failed"]);
/** @typedef {typeof STAGES[number]} Stage */
/** @typedef {"lease" | "kept" | "distrusted" | "on" | "closing" | "stopping" | "asleep" | "start" | "waking" | "failed"} Waits */

/** @param {Machine} machine @returns {Stage} */
export function stageOf(machine) {
  return STAGES.find((each) => each === machine.stage) ?? "on";
}

/** How many machines there are in each stage that some are in. @param {readonly Machine[]} machines */
export function counted(machines) {
  return STAGES.map((stage) => ({ stage, count: machines.filter((each) => stageOf(each) === stage).length })).filter(({ count }) => count);
}

/** What a machine waits for, until something happens to it. @param {Machine} machine @returns {Waits} */
export function waitsFor(machine) {
  const stage = stageOf(machine);
  if (stage === "asleep") return machine.next_start ? "start" : "asleep";
  if (stage !== "on") return stage;
  if (machine.failure) return "distrusted";
  if (machine.kept_on) return "kept";
  return machine.next_start ? "lease" : "on";
}

/** @typedef {"wake" | "trust" | "keep" | "release"} Action */

/** What an operator can do with a machine. @param {Machine} machine @returns {Action[]} */
export function actionsOf(machine) {
  const stage = stageOf(machine);
  /** @type {Action[]} */
  const found = [];
  if (stage === "closing" || stage === "stopping" || stage === "asleep") found.push("wake");
  // Whatever is said of a machine that has failed says that it works again.
  found.push(machine.failure ? "trust" : machine.kept_on ? "release" : "keep");
  return found;
}

/** @typedef {{hours_off: number, kwh: number | null, wakes: number, failed_wakes: number, called_off: number, late_starts: number, delayed_requests: number, delay_seconds: number}} Sums */

/** All rows together; kWh are unknown where those of one row are. @param {readonly Saved[]} rows @returns {Sums} */
export function summed(rows) {
  /** @param {(row: Saved) => number} of */
  const sum = (of) => rows.reduce((all, row) => all + of(row), 0);
  return {
    hours_off: sum((row) => row.hours_off),
    kwh: rows.some((row) => row.kwh === null) ? null : sum((row) => row.kwh ?? 0),
    wakes: sum((row) => row.wakes),
    failed_wakes: sum((row) => row.failed_wakes),
    called_off: sum((row) => row.called_off),
    late_starts: sum((row) => row.late_starts),
    delayed_requests: sum((row) => row.delayed_requests),
    delay_seconds: sum((row) => row.delay_seconds),
  };
}

/**
 * The days of a window, in seconds, and what each has; after the last one comes its end, so that it is drawn whole.
 * @param {readonly Saved[]} rows @param {number} from milliseconds @param {number} to @returns {{days: number[], sums: Sums[]}}
 */
export function byDay(rows, from, to) {
  const days = [];
  for (let day = Math.floor(from / DAY) * DAY; day < to; day += DAY) days.push(day);
  const sums = days.map((day) => summed(rows.filter((row) => Date.parse(row.day) === day)));
  const last = sums.at(-1) ?? summed([]);
  return { days: [...days, Math.ceil(to / DAY) * DAY].map((day) => day / 1000), sums: [...sums, last] };
}
