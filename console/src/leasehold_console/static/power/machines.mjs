// The machines of hosts: where each is between on and off, what it waits for, and what can be done with it.

import { ApiError, request } from "../api/http.mjs";
import { badge, how, quoted, time } from "../components/parts.mjs";
import { table } from "../components/table.mjs";
import { toast } from "../components/toast.mjs";
import { html, nothing } from "../core/html.mjs";
import { may } from "../core/session.mjs";
import { now } from "../core/settings.mjs";
import { texts } from "../core/texts.mjs";
import { parse, span } from "../core/time.mjs";
import catalogue from "../texts/en/power.mjs";
import { actionsOf, counted, stageOf, waitsFor } from "./words.mjs";

const t = texts(catalogue);
const KINDS = /** @type {const} */ ({ on: "good", closing: "warn", stopping: "warn", asleep: "plain", waking: "warn", failed: "bad" });

/** @typedef {import("./words.mjs").Machine} Machine */

/** @param {readonly Machine[]} machines @param {() => void} again reads them anew */
export function machinesView(machines, again) {
  return html`
    <p>${counted(machines).map(({ stage, count }) => html`${badge(t(`count_${stage}`, { count }), KINDS[stage])} `)}</p>
    ${table({
      caption: t("machines"),
      columns: [
        { title: t("host"), head: true, whole: true, cell: (each) => each.hypervisor_hostname },
        { title: t("state"), cell: stage },
        { title: t("class"), cell: (each) => each.power_class, wide: true },
        { title: t("since"), cell: (each) => time(each.since, { bare: true }), wide: true },
        { title: t("next_start"), cell: (each) => time(each.next_start, { bare: true }), wide: true },
        { title: t("now_what"), cell: waits },
        { title: "", cell: (each) => (may("leasehold:power:put") ? actionsOf(each).map((action) => button(each, action, again)) : nothing) },
      ],
      rows: machines,
      key: (each) => each.host_id,
      empty: t("machines_empty"),
    })}
    ${how({ command: "leasehold power list", method: "GET", path: "/v1/power/hosts" })}
  `;
}

/** @param {Machine} machine */
function stage(machine) {
  const found = stageOf(machine);
  return found === "on" && machine.failure ? badge(t("distrusted"), "bad") : badge(t(`stage_${found}`), KINDS[found]);
}

/** @param {Machine} machine */
function waits(machine) {
  const what = waitsFor(machine);
  const ready = machine.ready_at ? parse(machine.ready_at) : now.value;
  const said = t(`waits_${what}`, { failure: machine.failure ?? "", span: span(ready - now.value) });
  return html`${said} ${what === "waking" ? time(machine.ready_at, { bare: true }) : nothing}`;
}

/** @param {Machine} machine @param {import("./words.mjs").Action} action @param {() => void} again */
function button(machine, action, again) {
  const name = machine.hypervisor_hostname;
  return html`<button type="button" class="quiet" aria-label=${t(`${action}_of`, { name })} title=${commandOf(machine, action)} @click=${() => act(machine, action, again).catch(reportError)}>
    ${t(action)}
  </button> `;
}

/** @param {Machine} machine @param {import("./words.mjs").Action} action */
function commandOf({ hypervisor_hostname: name, power_class: kind, address, kept_on: kept }, action) {
  if (action === "wake") return `leasehold power wake ${quoted(name)}`;
  const keep = action === "keep" || (action === "trust" && kept);
  return `leasehold power set ${quoted(name)} --class ${quoted(kind)} --address ${quoted(address)}${keep ? " --keep-on" : ""}`;
}

/** @param {Machine} machine @param {import("./words.mjs").Action} action @param {() => void} again */
async function act(machine, action, again) {
  const path = `v1/power/hosts/${encodeURIComponent(machine.host_id)}`;
  const { power_class, address, kept_on } = machine;
  const body = { power_class, address, kept_on: action === "trust" ? kept_on : action === "keep" };
  try {
    await (action === "wake" ? request("POST", `${path}/wake`, { person: true }) : request("PUT", path, { body, person: true }));
    toast(t(`done_${action}`, { name: machine.hypervisor_hostname }), "good");
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    toast(error.message, "bad");
  }
  again();
}
