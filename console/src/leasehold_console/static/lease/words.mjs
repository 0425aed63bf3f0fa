// A lease in words: its state, how long still, and what it asks for. Pure.

import { parse, relative, span } from "../core/time.mjs";

/** @typedef {import("../../../../types/api").LeaseAnswer} Lease */
/** @typedef {import("../../../../types/api").ReservationAnswer} Reservation */
/** @typedef {"good" | "bad" | "warn" | "mine" | "plain"} Kind */

/** Statuses in which a lease has come to an end. */
const OVER = new Set(["TERMINATED", "TIMEDOUT", "DELETING"]);

/** The other statuses, as the query of the list of leases takes them. */
export const OPEN = "PENDING,ACTIVE,STARTING,IN_PROGRESS,ERROR,TERMINATING,UPDATING";

/** The colour of each status. @type {Record<string, Kind>} */
const KINDS = {
  ACTIVE: "good",
  PENDING: "mine",
  STARTING: "mine",
  IN_PROGRESS: "warn",
  UPDATING: "mine",
  TERMINATING: "plain",
  TERMINATED: "plain",
  DELETING: "plain",
  ERROR: "bad",
  TIMEDOUT: "bad",
  OFFERED: "warn",
};

/** The colour of a lease's status; what is degraded or at risk warns. @param {Lease} lease @returns {Kind} */
export function kindOf(lease) {
  if (lease.status === "ACTIVE" && (lease.degraded || lease.at_risk)) return "warn";
  return KINDS[lease.status] ?? "plain";
}

/** @param {Lease} lease */
export function isOver(lease) {
  return OVER.has(lease.status);
}

/** When it ends, in milliseconds; null: it has no end. @param {Lease} lease */
export function endOf(lease) {
  return lease.open_ended ? null : parse(lease.end_date);
}

/**
 * What comes next, and how far away it is.
 * @param {Lease} lease @param {number} now
 * @returns {{what: "starts" | "ends" | "tried until" | "open" | "over", when: string}}
 */
export function next(lease, now) {
  const end = endOf(lease);
  if (isOver(lease)) return { what: "over", when: end === null ? "" : relative(end, now) };
  if (lease.status === "IN_PROGRESS" && lease.deadline) return { what: "tried until", when: relative(parse(lease.deadline), now) };
  const start = parse(lease.start_date);
  if (start > now) return { what: "starts", when: relative(start, now) };
  return end === null ? { what: "open", when: span(now - start) } : { what: "ends", when: relative(end, now) };
}

/** Names of resource types for people. @type {Record<string, readonly [string, string]>} */
const NOUNS = {
  "physical:host": ["host", "hosts"],
  "virtual:instance": ["instance", "instances"],
  "flavor:instance": ["instance", "instances"],
  "virtual:floatingip": ["floating IP", "floating IPs"],
};

/** "3 hosts". @param {string} type @param {number} count */
export function counted(type, count) {
  const [one, many] = NOUNS[type] ?? [type, type];
  return `${count} ${count === 1 ? one : many}`;
}

/**
 * What a reservation asks for: "2 to 4 hosts", "3 instances, each 2 VCPU, 2048 MB, 10 GB".
 * @param {Record<string, any>} reservation of an answer or of a request
 */
export function asked(reservation) {
  const type = String(reservation.resource_type);
  const fewest = Number(reservation.min ?? reservation.amount ?? 1);
  const most = Number(reservation.max ?? reservation.amount ?? fewest);
  const amount = fewest === most ? counted(type, most) : `${fewest} to ${counted(type, most)}`;
  if (type === "virtual:instance")
    return `${amount}, each ${reservation.vcpus} VCPU, ${reservation.memory_mb} MB, ${reservation.disk_gb} GB`;
  return type === "flavor:instance" ? `${amount} of flavor ${reservation.flavor_id}` : amount;
}

/** The condition on properties that a reservation has, or "". @param {Record<string, any>} reservation */
export function condition(reservation) {
  return String(reservation.resource_properties || reservation.hypervisor_properties || "");
}

/** What Keystone gives projects as ids; those of the sandbox are names. */
const KEYSTONE = /^[0-9a-f]{8}-?([0-9a-f]{4}-?){3}[0-9a-f]{12}$/i;

/**
 * The command that boots a server in an active reservation, of OpenStack or of the sandbox, or "". What is in capitals is to be chosen.
 * @param {{project_id: string}} lease @param {Record<string, any>} reservation
 */
export function boot(lease, reservation) {
  const { resource_type: type, id, flavor_id, server_group_id: group } = reservation;
  const [hosts, real] = [type === "physical:host", KEYSTONE.test(lease.project_id)];
  if (reservation.status !== "active" || !(hosts || type === "virtual:instance" || type === "flavor:instance")) return "";
  const hint = hosts ? ` --${real ? "hint reservation=" : "reservation "}${id}` : real && group ? ` --hint group=${group}` : "";
  const begin = real ? "openstack server create" : `leasehold-manage sandbox boot --project ${lease.project_id}`;
  return `${begin} --flavor ${hosts ? "FLAVOR" : flavor_id}${hint}${real ? " --image IMAGE --network NETWORK" : ""} NAME`;
}

/** What it asks for, in a line. @param {Lease} lease */
export function summary(lease) {
  return lease.reservations.map((each) => asked(each)).join(", ");
}

/**
 * How much a lease needs somebody: the higher, the sooner. 0: not at all.
 * @param {Lease} lease @param {number} now @param {number} soon how near an end is, in milliseconds
 */
export function urgency(lease, now, soon) {
  if (isOver(lease)) return 0;
  if (lease.status === "ERROR") return 4;
  if (lease.degraded || lease.at_risk) return 3;
  const end = endOf(lease);
  if (lease.status === "ACTIVE" && end !== null && end - now < soon) return 2;
  return lease.status === "IN_PROGRESS" ? 1 : 0;
}
