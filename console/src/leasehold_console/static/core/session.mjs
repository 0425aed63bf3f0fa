// Who is signed in, and what it takes to sign in.

import { batch, computed, signal } from "../vendor/signals-core/signals-core.mjs";
import { request, sessionEnded } from "../api/http.mjs";

/**
 * @typedef {{id: string, name: string, domain?: string | null}} Named
 * @typedef {object} Session
 * @property {"keystone" | "http_basic" | "none"} strategy
 * @property {Named} user
 * @property {Named} project
 * @property {Named[]} projects
 * @property {string[]} roles
 * @property {boolean} can_switch
 * @property {string} expires_at
 * @property {number} idle_seconds
 * @property {string} region
 * @property {string[]} may
 *
 * @typedef {object} SignIn
 * @property {"keystone" | "http_basic" | "none"} strategy
 * @property {string[]} methods
 * @property {string | null} domain
 * @property {{id: string, name: string, href: string}[]} websso
 * @property {{user: string, project: string, roles: string[]} | null} act_as
 *
 * @typedef {{receipt: string, user_id: string, methods: string[]}} SecondFactor
 */

/** @type {import("../vendor/signals-core/signals-core.mjs").Signal<Session | null>} */
export const session = signal(/** @type {Session | null} */ (null));
/** @type {import("../vendor/signals-core/signals-core.mjs").Signal<SignIn | null>} */
export const signIn = signal(/** @type {SignIn | null} */ (null));
/** Whether the server has said who is signed in. */
export const known = signal(false);
/** Whether the sign-in is to be shown over the page, although somebody is signed in. */
export const again = signal(false);
export const mustSignIn = computed(() => known.value && (session.value === null || again.value));

/** Whether the caller passes a rule of the policy, "blazar:leases:post". @param {string} rule */
export function may(rule) {
  return session.value?.may.includes(rule) ?? false;
}

/** Whether the caller sees what all projects have, as operators do. */
export function administers() {
  return may("leasehold:timeline:get_all");
}

/** How often somebody has signed in; an answer to a question from before does not say who is signed in now. */
let entries = 0;

/** @param {any} document */
function take(document) {
  batch(() => {
    if (document.sign_in) signIn.value = document.sign_in;
    session.value = document.session;
    if (document.session) {
      again.value = false;
      sessionEnded.value = null;
    } else if (document.ended) sessionEnded.value = document.ended;
    known.value = true;
  });
}

/** Asks who is signed in. */
export async function fetchSession() {
  const before = entries;
  const document = await request("GET", "session");
  if (before === entries) take(document);
}

/**
 * Signs in by one method; returns what a second factor needs, if one is wanted.
 * @param {Record<string, unknown>} body one key, the method
 * @returns {Promise<SecondFactor | null>}
 */
export async function enter(body) {
  const document = await request("POST", "session", { body, person: true });
  if (document.second_factor) return document.second_factor;
  entries += 1;
  take(document);
  return null;
}

/** Signs out. What is on the page is gone at once, and nothing asks on behalf of this session any more. */
export async function leave() {
  session.value = null;
  await request("DELETE", "session", { person: true });
  await fetchSession();
}

/** @param {string} project the id */
export async function switchProject(project) {
  take(await request("POST", "session/project", { body: { project }, person: true }));
}
