// Which part of time is read for what is shown. Pure.

const DAY = 86400;
const HOUR = 3600;
/** The longest window of the API, less a little. */
const LONGEST = 399 * DAY;

/** The window to read for a view: as much again on both sides, in whole hours. @param {{from: number, to: number}} view */
export function windowOf(view) {
  const span = view.to - view.from;
  const margin = Math.min(Math.max(span, DAY), (LONGEST - span) / 2);
  return { from: Math.floor((view.from - margin) / HOUR) * HOUR, to: Math.ceil((view.to + margin) / HOUR) * HOUR };
}

/** Whether a view is within what was read. @param {{from: number, to: number}} read @param {{from: number, to: number}} view */
export function covers(read, view) {
  return view.from >= read.from && view.to <= read.to;
}
