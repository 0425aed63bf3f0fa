// Moments are milliseconds since 1970 in UTC. Pure: the zone and "now" are always given.

export const SECOND = 1000;
export const MINUTE = 60 * SECOND;
export const HOUR = 60 * MINUTE;
export const DAY = 24 * HOUR;

/** @type {Map<string, Intl.DateTimeFormat>} */
const formats = new Map();

/**
 * @param {string} zone
 * @param {Intl.DateTimeFormatOptions} options
 */
function format(zone, options) {
  const key = zone + JSON.stringify(options);
  let found = formats.get(key);
  if (!found) {
    found = new Intl.DateTimeFormat("en-GB", { timeZone: zone, ...options });
    formats.set(key, found);
  }
  return found;
}

/**
 * Reads a date of the API: ISO 8601, in UTC where it names no zone.
 * @param {string} text
 * @returns {number} NaN if it is none
 */
export function parse(text) {
  const whole = /[zZ]|[+-]\d\d:?\d\d$/.test(text) ? text : `${text}Z`;
  return Date.parse(whole.replace(" ", "T").replace(/(\.\d{3})\d+/, "$1"));
}

/** A moment as the API takes it. @param {number} moment */
export function iso(moment) {
  return new Date(moment).toISOString().replace(/\.\d{3}Z$/, "Z");
}

/** "21 Dec 2026, 23:21". @param {number} moment @param {string} zone */
export function absolute(moment, zone) {
  const options = /** @type {const} */ ({ day: "numeric", month: "short", year: "numeric", hour: "2-digit", minute: "2-digit" });
  return format(zone, options).format(moment);
}

/** "Mon 21 Dec, 23:21", for what is near. @param {number} moment @param {string} zone */
export function brief(moment, zone) {
  const options = /** @type {const} */ ({ weekday: "short", day: "numeric", month: "short", hour: "2-digit", minute: "2-digit" });
  return format(zone, options).format(moment);
}

/** "21 Dec". @param {number} moment @param {string} zone */
export function day(moment, zone) {
  return format(zone, { day: "numeric", month: "short" }).format(moment);
}

/** "Mon 21". @param {number} moment @param {string} zone */
export function weekday(moment, zone) {
  return format(zone, { weekday: "short", day: "numeric" }).format(moment);
}

/** "December 2026". @param {number} moment @param {string} zone */
export function month(moment, zone) {
  return format(zone, { month: "long", year: "numeric" }).format(moment);
}

/** "23:21". @param {number} moment @param {string} zone */
export function clock(moment, zone) {
  return format(zone, { hour: "2-digit", minute: "2-digit" }).format(moment);
}

/** "UTC+1". @param {string} zone @param {number} moment */
export function offset(zone, moment) {
  const parts = format(zone, { timeZoneName: "shortOffset", hour: "2-digit" }).formatToParts(moment);
  const name = parts.find((part) => part.type === "timeZoneName")?.value ?? "UTC";
  return name.replace("GMT", "UTC");
}

const UNITS = /** @type {const} */ ([
  ["d", DAY],
  ["h", HOUR],
  ["min", MINUTE],
  ["s", SECOND],
]);

/**
 * A length of time in its two largest units: "2 d 3 h", "45 min".
 * @param {number} length in milliseconds
 */
export function span(length) {
  let rest = Math.round(Math.abs(length) / SECOND) * SECOND;
  /** @type {string[]} */
  const parts = [];
  for (const [unit, size] of UNITS) {
    const count = Math.floor(rest / size);
    rest -= count * size;
    if (count) parts.push(`${count} ${unit}`);
    else if (parts.length) break;
    if (parts.length === 2) break;
  }
  return parts.join(" ") || "0 s";
}

/** "in 3 h", "2 d ago", "now". @param {number} moment @param {number} now */
export function relative(moment, now) {
  const away = moment - now;
  if (Math.abs(away) < 5 * SECOND) return "now";
  const coarse = Math.abs(away) < 2 * MINUTE ? away : Math.round(away / MINUTE) * MINUTE;
  return away > 0 ? `in ${span(coarse)}` : `${span(coarse)} ago`;
}

/** How far a zone is ahead of UTC at a moment, in milliseconds. @param {number} moment @param {string} zone */
export function ahead(moment, zone) {
  if (zone === "UTC") return 0;
  const parts = format(zone, {
    hourCycle: "h23", year: "numeric", month: "2-digit", day: "2-digit", hour: "2-digit", minute: "2-digit", second: "2-digit",
  }).formatToParts(moment);
  /** @param {string} type */
  const number = (type) => Number(parts.find((part) => part.type === type)?.value);
  const wall = Date.UTC(number("year"), number("month") - 1, number("day"), number("hour"), number("minute"), number("second"));
  return wall - Math.floor(moment / SECOND) * SECOND;
}

/**
 * What an `<input type=datetime-local>` shows for a moment.
 * @param {number} moment @param {string} zone
 */
export function toLocal(moment, zone) {
  return new Date(moment + ahead(moment, zone)).toISOString().slice(0, 16);
}

/**
 * The moment of what was typed into such a field. A time that a change of the clocks leaves out is read as the one after it.
 * @param {string} text "2026-12-21T23:21" @param {string} zone
 * @returns {number} NaN if it is not complete
 */
export function fromLocal(text, zone) {
  if (!/^\d{4}-\d\d-\d\dT\d\d:\d\d/.test(text)) return NaN;
  const wall = Date.parse(`${text}Z`);
  if (Number.isNaN(wall)) return NaN;
  const first = wall - ahead(wall, zone);
  return wall - ahead(first, zone);
}

/** The start of the day of a moment. @param {number} moment @param {string} zone */
export function dayStart(moment, zone) {
  return fromLocal(`${toLocal(moment, zone).slice(0, 10)}T00:00`, zone);
}
