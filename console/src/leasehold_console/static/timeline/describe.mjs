// What the picture says in words: for hints, for screen readers, and for the table.

import { texts } from "../core/texts.mjs";
import * as time from "../core/time.mjs";
import catalogue from "../texts/en/timeline.mjs";
import { barAt, nextFree, segmentAt } from "./bars.mjs";
import { inTheWay } from "./maintenance.mjs";
import { fareOf } from "./model.mjs";
import { isShared } from "./steps.mjs";

/** @typedef {import("./model.mjs").Model} Model */
const t = texts(catalogue);
const MOST_NAMES = 5;
/** What is always said of a lease, whatever the colours say. */
const TROUBLES = new Set(["risk", "degraded", "error"]);

/** @param {Model} model @param {number} row */
export function nameOf(model, row) {
  const name = model.names[row];
  if (name) return name;
  const what = model.types[row] === "physical:host" ? t("unnamed_host") : t("unnamed_other");
  return t("unnamed", { what, number: row + 1 });
}

/** @param {Model} model @param {number} row @returns {string} "" while it works */
export function stateOf(model, row) {
  const state = model.states[row] ?? "ok";
  return state === "ok" ? "" : t(/** @type {"state_ok"} */ (`state_${state}`));
}

/** How large a row is: "32 vCPU"; "" where that is not known. @param {Model} model @param {number} row */
export function sizeOf(model, row) {
  const count = model.capacity.VCPU?.[row];
  return count ? t("vcpus", { count }) : "";
}

/** What is used of a shared resource by a bar: "4 VCPU, 8192 MEMORY_MB". @param {Model} model @param {number} bar */
export function amountOf(model, bar) {
  const at = /** @type {number} */ (model.amountOf[bar]);
  if (at < 0) return "";
  return Object.entries(model.amounts).filter(([, column]) => column[at]).map(([name, column]) => `${column[at]} ${name}`).join(", ");
}

/** How a lease fares, in words; "" while it is active, and once it is over. @param {Model} model @param {number} lease */
export function fareText(model, lease) {
  const fare = fareOf(model.leases[lease]);
  return fare === null || fare === "active" ? "" : t(`fare_${fare}`);
}

/** What a bar is: the name of a lease, or of what happens there. @param {Model} model @param {number} bar */
export function whatOf(model, bar) {
  const kind = model.kinds[bar] ?? "taken";
  const lease = model.leases[/** @type {number} */ (model.leaseOf[bar])];
  const words = t(/** @type {"kind_taken"} */ (`kind_${kind}`));
  if (!lease) return words;
  const name = lease.name ?? lease.id;
  const parts = kind === "lease" ? [name] : [`${name}: ${words}`];
  if (lease.whose === "other" && lease.project) parts.push(t("of_project", { project: lease.project }));
  const fare = fareOf(lease);
  if (kind === "lease" && fare !== null && TROUBLES.has(fare)) parts.push(t(`fare_${fare}`));
  if (model.substitutes.has(bar)) parts.push(t("substitute"));
  return parts.join(", ");
}

/**
 * @param {Model} model @param {number} row @param {import("./bars.mjs").Segment} segment @param {number} now @param {string} zone
 */
export function segmentText(model, row, segment, now, zone) {
  /** @param {number} moment */
  const say = (moment) => time.absolute(moment * 1000, zone);
  const { bar } = segment;
  if (bar >= 0) {
    const lease = model.kinds[bar] === "lease" ? model.leases[/** @type {number} */ (model.leaseOf[bar])] : undefined;
    const start = say(lease?.start ?? segment.start);
    const what = whatOf(model, bar);
    const end = lease ? lease.end : segment.end >= model.to ? null : segment.end;
    if (end === null) return t("say_bar_open", { what, start });
    const amount = amountOf(model, bar);
    return amount ? t("say_amount", { what, amount, start, end: say(end) }) : t("say_bar", { what, start, end: say(end) });
  }
  if (model.closed[row]) {
    const reason = model.reasons[row];
    return reason ? t("say_closed_because", { state: stateOf(model, row), reason }) : t("say_closed", { state: stateOf(model, row) });
  }
  if (segment.kind === "cleaning") return t("say_cleaning", { start: say(segment.start), end: say(segment.end) });
  if (segment.end <= now) return t("say_unused", { start: say(segment.start), end: say(segment.end) });
  const start = Math.max(segment.start, now);
  if (segment.end >= model.to) return t("say_free_open", { start: say(start) });
  return t("say_free", { start: say(start), end: say(segment.end), span: time.span((segment.end - start) * 1000) });
}

/** Why a drag went no further. @param {import("./draft.mjs").Stop | null} stop */
export function stopText(stop) {
  if (!stop) return "";
  const span = time.span(stop.cleaning * 1000);
  if (stop.reason === "before") return stop.cleaning ? t("stop_before", { span }) : t("stop_before_bare");
  if (stop.reason === "after") return stop.cleaning ? t("stop_after", { span }) : t("stop_after_bare");
  return t(stop.reason === "now" ? "stop_now" : "stop_end");
}

/** @param {import("./draft.mjs").Draft} draft @param {string} zone */
export function draftText(draft, zone) {
  const words = {
    count: draft.rows.length,
    span: time.span((draft.end - draft.start) * 1000),
    start: time.brief(draft.start * 1000, zone),
    end: time.brief(draft.end * 1000, zone),
  };
  return [t("draft", words), stopText(draft.stop)].filter(Boolean).join("\n");
}

/** What a maintenance window would close, and who is there. @param {Model} model @param {import("./draft.mjs").Draft} draft @param {string} zone */
export function closingText(model, draft, zone) {
  const words = { count: draft.rows.length, span: time.span((draft.end - draft.start) * 1000), start: time.brief(draft.start * 1000, zone), end: time.brief(draft.end * 1000, zone) };
  return [t("closing", words), stopText(draft.stop), inTheWayText(model, draft.rows, draft.start, draft.end)].filter(Boolean).join("\n");
}

/** Whose leases are there in a part of time. @param {Model} model @param {readonly number[]} rows @param {number} from @param {number} to */
export function inTheWayText(model, rows, from, to) {
  const found = inTheWay(model, rows, from, to);
  if (!found.length) return t("nobody_there");
  const names = found.slice(0, MOST_NAMES).map((at) => {
    const lease = model.leases[at];
    const name = lease?.name ?? lease?.id ?? "";
    return lease?.project ? t("in_the_way_of", { name, project: lease.project }) : name;
  });
  const more = found.length - names.length;
  return t("in_the_way", { count: found.length, names: more ? t("and_more", { names: names.join(", "), count: more }) : names.join(", ") });
}

/** @param {Model} model @param {number} lease @param {number} end @param {import("./draft.mjs").Stop | null} stop @param {string} zone */
export function endText(model, lease, end, stop, zone) {
  const found = model.leases[lease];
  const before = found?.end ?? end;
  const span = time.span((end - before) * 1000);
  const change = t(end >= before ? "change_later" : "change_earlier", { span });
  return [t("extend", { name: found?.name ?? "", end: time.brief(end * 1000, zone), change }), stopText(stop)].filter(Boolean).join("\n");
}

/** Whether a row is free at a moment. @param {Model} model @param {number} row @param {number} at */
export function isFreeAt(model, row, at) {
  return !model.closed[row] && segmentAt(model.bars, row, at, model.cleaning[row] ?? 0).kind === "free";
}

/** How many of some rows are free now, or when the next is. @param {Model} model @param {Int32Array} rows @param {number} now */
export function freeText(model, rows, now) {
  if (now < model.from || now >= model.to) return t("rows", { count: rows.length });
  let free = 0;
  let next = Infinity;
  for (const row of rows) {
    if (model.closed[row]) continue;
    if (isFreeAt(model, row, now)) free += 1;
    else if (!isShared(model.steps, row)) next = Math.min(next, nextFree(model.bars, row, now, model.cleaning[row] ?? 0, 3600).start);
  }
  const count = rows.length;
  if (free) return t("free_now", { free, count });
  return next < model.to ? t("all_taken", { count, when: time.relative(next * 1000, now * 1000) }) : t("none_free", { count });
}

/** What a row is now, and when it is free. @param {Model} model @param {number} row @param {number} now */
export function nowOf(model, row, now) {
  const bar = barAt(model.bars, row, now);
  const cleaning = model.cleaning[row] ?? 0;
  return { bar, free: isFreeAt(model, row, now), next: nextFree(model.bars, row, now, cleaning, 600) };
}
