// The colours of the picture, from the custom properties of the stylesheet, so that themes and forced colours work.

const NAMES = /** @type {const} */ ([
  "free", "free-text", "past", "taken", "taken-text", "mine", "mine-text", "project", "project-text",
  "pending", "starting", "active", "risk", "degraded", "error", "fare-text", "heat-free", "heat-taken", "after", "broken", "closed", "hatch", "line", "grid", "now", "row", "text", "muted", "surface", "border",
]);
/** @typedef {Record<typeof NAMES[number], string>} Colours */
const ELSEWHERE = /** @type {Partial<Record<typeof NAMES[number], string>>} */ ({
  text: "--text",
  muted: "--muted",
  surface: "--surface",
  border: "--line",
});

/** @param {Element} element @returns {Colours} */
export function readColours(element) {
  // Computed colours are plain ones, whatever the stylesheet says: names of the system, mixtures.
  const probe = document.createElement("span");
  probe.style.forcedColorAdjust = "none";
  element.append(probe);
  const style = getComputedStyle(probe);
  const found = /** @type {Colours} */ ({});
  for (const name of NAMES) {
    probe.style.color = `var(${ELSEWHERE[name] ?? `--tl-${name}`})`;
    found[name] = style.color;
  }
  probe.remove();
  return found;
}

/**
 * A pattern of lines, for what is not to be had: the state is never told by colour alone.
 * @param {CanvasRenderingContext2D} context @param {string} colour @param {number} ratio @param {1 | 0 | -1} way rising, upright or falling
 */
export function hatching(context, colour, ratio, way) {
  const size = Math.round(6 * ratio);
  const tile = document.createElement("canvas");
  tile.width = tile.height = size;
  const brush = /** @type {CanvasRenderingContext2D} */ (tile.getContext("2d"));
  brush.strokeStyle = colour;
  brush.globalAlpha = 0.55;
  brush.lineWidth = ratio;
  brush.beginPath();
  for (const shift of way ? [-size, 0, size] : [size / 2]) {
    brush.moveTo(shift, way > 0 ? size : 0);
    brush.lineTo(way ? shift + size : shift, way > 0 ? 0 : size);
  }
  brush.stroke();
  const pattern = /** @type {CanvasPattern} */ (context.createPattern(tile, "repeat"));
  pattern.setTransform(new DOMMatrix().scale(1 / ratio));
  return pattern;
}

/** The parts of "rgb(1, 2, 3)". @param {string} colour @returns {[number, number, number]} */
export function rgb(colour) {
  const [red = 0, green = 0, blue = 0] = (colour.match(/[\d.]+/g) ?? []).map(Number);
  return [red, green, blue];
}
