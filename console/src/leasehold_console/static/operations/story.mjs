// What broke and what was done about it: chapters from the event log.

import { ApiError, call } from "../api/http.mjs";
import { badge, busy, how, problem, time } from "../components/parts.mjs";
import { html, nothing } from "../core/html.mjs";
import { loader } from "../core/loader.mjs";
import { adjust, href, route } from "../core/router.mjs";
import { administers } from "../core/session.mjs";
import { now } from "../core/settings.mjs";
import { texts } from "../core/texts.mjs";
import { HOUR, iso } from "../core/time.mjs";
import catalogue from "../texts/en/operations.mjs";
import { TOLD, kindOf, lacks, story } from "./words.mjs";

const t = texts(catalogue);
const PAGE = 1000;
const WINDOWS = /** @type {const} */ ([12, 24, 168]);
const LONGEST = 168 * HOUR;

/** @typedef {import("./words.mjs").LogEvent} LogEvent */
/** @typedef {import("./words.mjs").Chapter} Chapter */

export function happenings() {
  /** @type {LogEvent[]} */
  let events = [];
  let after = "";

  /** Reads on from where the last reading ended. @param {AbortSignal} abort */
  async function readOn(abort) {
    for (;;) {
      const since = Date.now() - LONGEST;
      const begin = after ? { after } : { from: iso(since) };
      const query = { type: TOLD.join(","), limit: PAGE, ...begin, ...(administers() ? { all_projects: true } : {}) };
      const page = await call("GET /v1/events", { query, signal: abort });
      events = [...events, ...page.events].filter((each) => Date.parse(each.time) >= since);
      after = page.next;
      if (!page.events.length) return events;
    }
  }

  const list = loader(async (abort) => {
    try {
      return await readOn(abort);
    } catch (error) {
      if (!(error instanceof ApiError) || error.status !== 410) throw error;
      // Events were purged before they were read: from the beginning of the log.
      [events, after] = [[], ""];
      return readOn(abort);
    }
  });

  return {
    reload: () => list.reload(),
    close: list.close,
    /** @param {readonly LogEvent[]} news whether the story has to be read on for these */
    concerns: (news) => !news.length || news.some((each) => TOLD.includes(each.type)),
    view: () => {
      const { value, error } = list.state.value;
      return html`<section class="card">
        <h2>${t("story")}</h2>
        ${windows()}
        <p class="hint muted">${t("story_hint")}</p>
        ${problem(error, () => list.reload().catch(reportError))} ${value ? chapters(story(value, now.value - hours() * HOUR)) : error ? nothing : busy()}
        ${how({
          command: `leasehold lease events --since '${hours()} h ago'`,
          method: "GET",
          path: `/v1/events?all_projects=true&from=${iso(Math.floor(now.value / HOUR) * HOUR - hours() * HOUR)}&type=${TOLD.join(",")}`,
        })}
      </section>`;
    },
  };
}

function hours() {
  const asked = Number(route.value.query.get("hours"));
  return WINDOWS.find((each) => each === asked) ?? 24;
}

function windows() {
  return html`<div class="actions" role="group" aria-label=${t("window")}>
    ${WINDOWS.map((each) => html`<button type="button" aria-pressed=${each === hours() ? "true" : "false"} @click=${() => adjust({ hours: String(each) })}>
      ${t(`window_${each}`)}
    </button>`)}
  </div>`;
}

/** @param {readonly Chapter[]} all */
function chapters(all) {
  if (!all.length) return html`<div class="empty">${t("story_empty")}</div>`;
  return html`<ol class="story">${all.map((each) => html`<li>
    <h3>
      ${each.lease ? html`<a href=${href(`leases/${each.lease}`)}>${each.name}</a>` : each.name}
      ${each.kind ? html`<span class="muted">${each.kind}</span>` : nothing}
      ${each.open ? badge(t("story_open"), "bad") : badge(t("story_closed"))}
    </h3>
    <ul class="changes">${each.events.map((event) => html`<li class="told ${kindOf(event)}">${time(event.time)} <span>${sentence(event)}</span></li>`)}</ul>
  </li>`)}</ol>`;
}

/** @param {LogEvent} event */
function sentence(event) {
  const { type, payload } = event;
  const reason = String(payload.disabled_reason || payload.pool_reason || "");
  if (type === "resource.health") {
    const key = /** @type {keyof typeof catalogue} */ (`resource_health_${payload.health}`);
    return key in catalogue ? t(key) : t("resource_health_unknown", { health: String(payload.health) });
  }
  if (type === "lease.degraded") return t(lacks(event) ? "lease_degraded" : "lease_changed");
  if (type === "resource.disabled" && !reason) return t("resource_disabled_bare");
  return t(/** @type {keyof typeof catalogue} */ (type.replaceAll(".", "_")), { reason });
}
