import { html, nothing, repeat } from "../core/html.mjs";

/**
 * @template T
 * @typedef {object} Column
 * @property {string} title
 * @property {(row: T) => import("../core/html.mjs").View} cell
 * @property {boolean} [head] the cell names the row
 * @property {boolean} [number] aligned to the right
 * @property {boolean} [wide] left out on a phone
 * @property {boolean} [line] on a phone a line of its own below the others, where the style stacks a row
 * @property {boolean} [whole] its text is not broken into lines
 */

/**
 * @template T
 * @param {object} options
 * @param {string} options.caption what it lists, for screen readers
 * @param {readonly Column<T>[]} options.columns
 * @param {readonly T[]} options.rows
 * @param {(row: T) => string | number} options.key
 * @param {import("../core/html.mjs").View} [options.empty] instead of the table when there are no rows
 */
export function table({ caption, columns, rows, key, empty }) {
  if (!rows.length && empty !== undefined) return html`<div class="empty">${empty}</div>`;
  /** @param {Column<T>} column */
  const kind = (column) => `${column.number ? "number" : ""} ${column.wide ? "wide" : ""} ${column.whole ? "whole" : ""} ${column.line ? "line" : ""}`.trim() || nothing;
  return html`<div class="table-box" tabindex="0" role="region" aria-label=${caption}>
    <table>
      <caption class="unseen">${caption}</caption>
      <thead>
        <tr>${columns.map((column) => html`<th scope="col" class=${kind(column)}>${column.title}</th>`)}</tr>
      </thead>
      <tbody>
        ${repeat(rows, key, (row) => html`<tr>
          ${columns.map((column) => column.head
            ? html`<th scope="row" class=${kind(column)}>${column.cell(row)}</th>`
            : html`<td class=${kind(column)}>${column.cell(row)}</td>`)}
        </tr>`)}
      </tbody>
    </table>
  </div>`;
}
