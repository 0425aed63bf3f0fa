// A chart of steps; uPlot draws it, and it is as wide as what it is in.

// The types of uPlot declare no default export, which the module has.
// @ts-expect-error
import library from "../vendor/uplot/uPlot.mjs";
import { effect } from "../vendor/signals-core/signals-core.mjs";
import { html, ref } from "../core/html.mjs";
import { now, shade, zone } from "../core/settings.mjs";
import { DAY, clock, day } from "../core/time.mjs";

/** @typedef {import("../vendor/uplot/uPlot.mjs")} Plot */
/** @typedef {import("../vendor/uplot/uPlot.mjs").Options} Options */
/** @type {typeof import("../vendor/uplot/uPlot.mjs")} */
const uPlot = library;

const HEIGHT = 300;
const WIDEST_PHONE = 600;

/** @typedef {{label: string, colour: string, filled?: boolean}} Line `colour` is the name of a custom property of css/tokens.css */

/**
 * @param {readonly Line[]} lines
 * @param {() => import("../vendor/uplot/uPlot.mjs").AlignedData | null} data reads signals; it is drawn again when one of them changes
 * @param {number} [height] in pixels
 */
export function stepChart(lines, data, height = HEIGHT) {
  /** @type {HTMLElement | undefined} */
  let box;
  /** @type {Plot | undefined} */
  let plot;
  /** @type {(() => void) | undefined} */
  let stop;
  const resized = new ResizeObserver(() => box && plot?.setSize({ width: box.clientWidth, height }));

  function draw() {
    const [drawn, name] = [data(), zone.value];
    // The colours are those of the theme, which the document has once this effect and that of the theme have run.
    void shade.value;
    plot?.destroy();
    plot = undefined;
    if (box && drawn) plot = new uPlot(optionsOf(lines, box, name, height), drawn, box);
  }

  /** @param {Element | undefined} element */
  function attach(element) {
    if (element === box) return;
    close();
    box = element instanceof HTMLElement ? element : undefined;
    if (!box) return;
    resized.observe(box);
    const mine = box;
    // Not within the drawing of the page, or the page would depend on what the chart reads.
    queueMicrotask(() => {
      if (box === mine) stop = effect(draw);
    });
  }

  function close() {
    resized.disconnect();
    stop?.();
    plot?.destroy();
    [stop, plot, box] = [undefined, undefined, undefined];
  }

  const attached = ref(attach);
  return { view: () => html`<div class="chart" aria-hidden="true" ${attached}></div>`, close };
}

/** @param {readonly Line[]} lines @param {HTMLElement} box @param {string} name of the zone @param {number} height @returns {Options} */
function optionsOf(lines, box, name, height) {
  const style = getComputedStyle(box);
  /** @param {string} token */
  const colour = (token) => style.getPropertyValue(token).trim();
  const stepped = uPlot.paths.stepped?.({ align: 1 });
  const axis = { stroke: colour("--muted"), grid: { stroke: colour("--line"), width: 1 }, ticks: { stroke: colour("--line"), width: 1 } };
  return {
    width: box.clientWidth,
    height,
    tzDate: (seconds) => uPlot.tzDate(new Date(seconds * 1000), name),
    cursor: { drag: { x: false, y: false }, show: box.clientWidth > WIDEST_PHONE },
    legend: { live: false },
    scales: { y: { range: (_, __, most) => [0, Math.max(1, most * 1.08)] } },
    axes: [
      { ...axis, values: (_, at, __, ___, apart) => at.map((seconds) => named(seconds * 1000, apart * 1000, name)) },
      { ...axis, size: 44 },
    ],
    hooks: { draw: [(self) => markNow(self, colour("--tl-now"))] },
    series: [
      {},
      ...lines.map((line) => ({
        label: line.label,
        stroke: colour(line.colour),
        width: 2,
        points: { show: false },
        ...(stepped ? { paths: stepped } : {}),
        ...(line.filled ? { fill: `color-mix(in srgb, ${colour(line.colour)} 22%, transparent)` } : {}),
      })),
    ],
  };
}

/** The name of a moment on the axis: its day, or its time where there are several in a day. @param {number} moment @param {number} apart @param {string} name */
function named(moment, apart, name) {
  const time = clock(moment, name);
  return apart < DAY && time !== "00:00" ? time : day(moment, name);
}

/** @param {Plot} plot @param {string} colour */
function markNow(plot, colour) {
  const x = plot.valToPos(now.peek() / 1000, "x", true);
  const { left, top, width, height } = plot.bbox;
  if (x < left || x > left + width) return;
  plot.ctx.fillStyle = colour;
  plot.ctx.fillRect(Math.round(x), top, Math.max(1, Math.round(devicePixelRatio)), height);
}
