// Hosts of the cloud that could be enrolled. Pure.

import { texts } from "../core/texts.mjs";
import catalogue from "../texts/en/hosts.mjs";

const t = texts(catalogue);
const MB_IN_GB = 1024;

/** @typedef {import("../../../../types/api").CandidateAnswer} Candidate */
/** @typedef {"reservation" | "shared"} Pool */

/** Why a host cannot be enrolled for a pool as things are; "" if it can. @param {Candidate} candidate @param {Pool} pool */
export function barrier({ refused, pool: possible }, pool) {
  if (refused) return refused;
  return possible === "shared" && pool === "reservation" ? t("has_servers") : "";
}

/** The chosen ones that can be enrolled for a pool. @param {readonly Candidate[]} candidates @param {ReadonlySet<string>} chosen @param {Pool} pool */
export function picked(candidates, chosen, pool) {
  return candidates.filter((each) => chosen.has(each.name) && !barrier(each, pool));
}

/** What tells a host from the others: its size, its zone, and whether it works. @param {Candidate} candidate */
export function sizeOf({ attributes, up, enabled }) {
  const said = [t("size", { vcpus: Number(attributes["vcpus"]), memory: Math.round(Number(attributes["memory_mb"]) / MB_IN_GB) }), String(attributes["availability_zone"] ?? "")];
  if (!up) said.push(t("down"));
  else if (!enabled) said.push(t("out_there"));
  return said.filter(Boolean).join(", ");
}
