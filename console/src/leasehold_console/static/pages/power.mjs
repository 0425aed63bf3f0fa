// Machines that sleep while nobody needs them: where each is, how long they take to wake up, and what that saves.

import { listen } from "../api/events.mjs";
import { call } from "../api/http.mjs";
import { busy, how, problem } from "../components/parts.mjs";
import { table } from "../components/table.mjs";
import { html, nothing } from "../core/html.mjs";
import { loader } from "../core/loader.mjs";
import { texts } from "../core/texts.mjs";
import { SECOND, span } from "../core/time.mjs";
import { machinesView } from "../power/machines.mjs";
import { savings } from "../power/report.mjs";
import catalogue from "../texts/en/power.mjs";

const t = texts(catalogue);
/** How often machines are read, in milliseconds: no event says that one is shut down or boots. */
const EVERY = 10 * SECOND;

/** @param {AbortSignal} signal */
async function read(signal) {
  const [{ machines }, { margins }] = await Promise.all([call("GET /v1/power/hosts", { signal }), call("GET /v1/power/margins", { signal })]);
  machines.sort((one, other) => one.hypervisor_hostname.localeCompare(other.hypervisor_hostname, "en", { numeric: true }));
  return { machines, margins };
}

/** @returns {import("../core/page.mjs").Page} */
export function open() {
  const list = loader(read);
  const saved = savings();
  const again = () => list.reload().catch(reportError);
  const reload = () => Promise.all([list.reload(), saved.reload()]).catch(reportError);
  reload();
  const timer = setInterval(() => document.hidden || again(), EVERY);
  const stop = listen((events) => {
    if (!events.length || events.some((each) => each.lease_id || each.resource_id)) again();
  });
  return {
    title: () => t("title"),
    keys: [{ key: "r", says: t("read_again"), run: reload }],
    view: () => {
      const { value, error } = list.state.value;
      return html`<div class="page-head"><h1>${t("title")}</h1></div>
        ${problem(error, again)}
        <section class="card">
          <h2>${t("machines")}</h2>
          <p class="hint muted">${t("machines_hint")}</p>
          ${value ? machinesView(value.machines, again) : error ? nothing : busy()}
        </section>
        ${saved.view()}
        ${value ? margins(value.margins) : nothing}`;
    },
    close: () => {
      clearInterval(timer);
      stop();
      list.close();
      saved.close();
    },
  };
}

/** @param {readonly import("../../../../types/api").MarginAnswer[]} all */
function margins(all) {
  return html`<section class="card">
    <h2>${t("margins")}</h2>
    <p class="hint muted">${t("margins_hint")}</p>
    ${table({
      caption: t("margins"),
      columns: [
        { title: t("class"), head: true, cell: (each) => each.power_class },
        { title: t("takes"), number: true, cell: (each) => span(each.wake_seconds * SECOND) },
      ],
      rows: all,
      key: (each) => each.power_class,
      empty: t("margins_empty"),
    })}
    ${how({ command: "leasehold power margin list", method: "GET", path: "/v1/power/margins" })}
  </section>`;
}
