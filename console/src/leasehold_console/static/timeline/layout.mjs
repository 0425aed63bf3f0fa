// Which rows are shown, in which order, and how high: groups with a heading, rows, rows that are opened into lanes. Pure.

import { lanesOf } from "./bars.mjs";
import { propertyOf } from "./model.mjs";

/** @typedef {import("./model.mjs").Model} Model */

/**
 * @typedef {object} Filter
 * @property {string} text part of a name or of a property
 * @property {Record<string, string[]>} properties for each property the values that will do
 *
 * @typedef {object} Group
 * @property {string} name "" where there is nothing to group by
 * @property {Int32Array} rows
 *
 * @typedef {object} Layout
 * @property {Group[]} groups
 * @property {number} height
 * @property {number} count lines, headings included
 * @property {Int32Array} row of each line; -1 - g: the heading of group g
 * @property {Int32Array} line of each row; -1: it is not shown
 * @property {Float64Array} top of each line, and one more: the bottom of the last
 * @property {Map<number, {lanes: number, of: Int32Array}>} open rows that are opened into lanes
 * @property {number} rowHeight
 */

export const HEADING = 26;
export const LANE = 18;

/** Whether a row is one that is looked for. @param {Model} model @param {number} row @param {Filter} filter */
export function matches(model, row, filter) {
  for (const [name, wanted] of Object.entries(filter.properties)) {
    if (wanted.length && !wanted.includes(propertyOf(model, name, row))) return false;
  }
  const text = filter.text.trim().toLowerCase();
  if (!text) return true;
  if ((model.names[row] ?? "").toLowerCase().includes(text)) return true;
  for (const name of model.properties.keys()) if (propertyOf(model, name, row).toLowerCase().includes(text)) return true;
  return false;
}

const collator = new Intl.Collator("en", { numeric: true });

/**
 * The rows that match, in groups by a property; groups and rows by name, "cmp-9" before "cmp-10".
 * @param {Model} model @param {Filter} filter @param {string} by a property; "" for no groups
 * @returns {Group[]}
 */
export function groupsOf(model, filter, by) {
  /** @type {Map<string, number[]>} */
  const found = new Map();
  for (let row = 0; row < model.rows; row += 1) {
    if (!matches(model, row, filter)) continue;
    const name = by ? propertyOf(model, by, row) : "";
    const rows = found.get(name);
    if (rows) rows.push(row);
    else found.set(name, [row]);
  }
  // Rows without the property come last.
  const names = [...found.keys()].sort((one, other) => Number(!one) - Number(!other) || collator.compare(one, other));
  return names.map((name) => {
    const rows = found.get(name) ?? [];
    rows.sort((one, other) => collator.compare(model.names[one] ?? "", model.names[other] ?? "") || one - other);
    return { name, rows: Int32Array.from(rows) };
  });
}

/**
 * @param {Model} model @param {Group[]} groups @param {number} rowHeight
 * @param {ReadonlySet<string>} opened ids of rows that are opened into lanes
 * @param {boolean} headings
 * @returns {Layout}
 */
export function layoutOf(model, groups, rowHeight, opened, headings) {
  const total = groups.reduce((sum, group) => sum + group.rows.length + (headings ? 1 : 0), 0);
  const row = new Int32Array(total);
  const top = new Float64Array(total + 1);
  const lineOfRow = new Int32Array(model.rows).fill(-1);
  /** @type {Layout["open"]} */
  const open = new Map();
  let line = 0;
  let y = 0;
  for (const [number, group] of groups.entries()) {
    if (headings) {
      row[line] = -1 - number;
      top[line++] = y;
      y += HEADING;
    }
    for (const each of group.rows) {
      row[line] = each;
      lineOfRow[each] = line;
      top[line++] = y;
      if (opened.has(model.ids[each] ?? "")) {
        const lanes = lanesOf(model.bars, each);
        open.set(each, lanes);
        y += Math.max(rowHeight, lanes.lanes * LANE + 2);
      } else y += rowHeight;
    }
  }
  top[line] = y;
  return { groups, height: y, count: total, row, line: lineOfRow, top, open, rowHeight };
}

/** The line at a height, or -1. @param {Layout} layout @param {number} y */
export function lineAt(layout, y) {
  if (y < 0 || y >= layout.height) return -1;
  let low = 0;
  let high = layout.count;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (/** @type {number} */ (layout.top[middle + 1]) > y) high = middle;
    else low = middle + 1;
  }
  return low;
}

/** The line of a row, or -1. @param {Layout} layout @param {number} row */
export function lineOf(layout, row) {
  return layout.line[row] ?? -1;
}

/** The next line that is a row, in one direction; the same where there is none. @param {Layout} layout @param {number} line @param {number} by */
export function rowFrom(layout, line, by) {
  const way = Math.sign(by);
  let left = Math.abs(by);
  let last = line;
  for (let at = line + way; at >= 0 && at < layout.count; at += way) {
    if (/** @type {number} */ (layout.row[at]) < 0) continue;
    last = at;
    left -= 1;
    if (left <= 0) break;
  }
  return last;
}
