// Requests to the service. All paths are below /console, wherever that is served.

import { signal } from "../vendor/signals-core/signals-core.mjs";

/** @typedef {import("../../../../types/api").Operations} Operations */
/** @typedef {keyof Operations & string} Operation */

export const VERSION = "reservation 1.3";
const BASE = new URL("../", import.meta.url);

/** A refusal or a failure. Its message is a sentence for people. */
export class ApiError extends Error {
  /**
   * @param {string} message
   * @param {{status?: number, code?: string, field?: string, details?: Record<string, any>}} [facts]
   */
  constructor(message, { status = 0, code = "", field = "", details = {} } = {}) {
    super(message);
    this.name = "ApiError";
    /** 0: there was no answer. */
    this.status = status;
    /** From the catalogue of errors; never changes. */
    this.code = code;
    /** The key of the request that is wrong, or "". */
    this.field = field;
    this.details = details;
  }
}

/**
 * Why the session is over while the page is open: "idle", "expired" or "none"; null while nothing said so.
 * @type {import("../vendor/signals-core/signals-core.mjs").Signal<string | null>}
 */
export const sessionEnded = signal(/** @type {string | null} */ (null));

/**
 * What a request may have besides its path.
 * @typedef {object} Extras
 * @property {Record<string, string | number | boolean | undefined>} [query] undefined: leave it out
 * @property {unknown} [body] sent as JSON
 * @property {Record<string, string>} [headers]
 * @property {boolean} [person] a person asked for it just now; polls and timers leave it out, or the session never ends
 * @property {AbortSignal} [signal]
 */

/**
 * Sends a request and returns the answer as it is.
 * @param {string} method @param {string} path relative to /console/
 * @param {Extras} [extras]
 * @returns {Promise<Response>} a success, or 304
 * @throws {ApiError}
 */
export async function send(method, path, extras = {}) {
  const url = new URL(path, BASE);
  for (const [name, value] of Object.entries(extras.query ?? {})) {
    if (value !== undefined) url.searchParams.set(name, String(value));
  }
  /** @type {Record<string, string>} */
  const headers = { "X-Leasehold-Console": "1", "OpenStack-API-Version": VERSION, ...extras.headers };
  if (extras.person) headers["X-Leasehold-Person"] = "1";
  if (extras.body !== undefined) headers["Content-Type"] = "application/json";
  const init = {
    method,
    headers,
    ...(extras.body === undefined ? {} : { body: JSON.stringify(extras.body) }),
    ...(extras.signal ? { signal: extras.signal } : {}),
  };
  let answer;
  try {
    answer = await fetch(url, init);
  } catch (error) {
    if (extras.signal?.aborted) throw error;
    throw new ApiError("The service does not answer. Check the connection; what is shown may be out of date.");
  }
  if (answer.ok || answer.status === 304) return answer;
  throw await refusal(answer);
}

/** @param {Response} answer @returns {Promise<ApiError>} */
async function refusal(answer) {
  const body = await answer.json().catch(() => ({}));
  const message = body.error_message || `The service answered with status ${answer.status} and no explanation.`;
  const error = new ApiError(message, {
    status: answer.status,
    code: body.code ?? "",
    field: body.field ?? "",
    details: body.details ?? {},
  });
  if (error.code === "leasehold.session.none") sessionEnded.value = error.details.ended ?? "none";
  return error;
}

/**
 * Sends a request and returns the JSON of the answer; undefined if it has none.
 * @param {string} method @param {string} path @param {Extras} [extras]
 * @returns {Promise<any>}
 */
export async function request(method, path, extras) {
  const answer = await send(method, path, extras);
  return answer.status === 204 || answer.status === 304 ? undefined : answer.json();
}

/**
 * Calls one operation of the API; words, query, body and answer have the types of the OpenAPI document.
 *
 *     const { lease } = await call("GET /v1/leases/{lease_id}", { path: { lease_id } });
 *
 * @template {Operation} O
 * @param {O} operation
 * @param {Omit<Extras, "query" | "body"> & {path?: Operations[O]["path"], query?: Operations[O]["query"], body?: Operations[O]["body"]}} [extras]
 * @returns {Promise<Operations[O]["answer"]>}
 * @throws {ApiError}
 */
export function call(operation, extras = {}) {
  const { path: words = {}, ...rest } = extras;
  const [method = "", form = ""] = operation.split(" ");
  return request(method, pathOf(form, words), /** @type {Extras} */ (rest));
}

/**
 * The path of an operation with its words filled in, relative to /console/.
 * @param {string} form @param {Record<string, any>} words
 */
export function pathOf(form, words) {
  return form.replace(/^\//, "").replace(/\{(\w+)\}/g, (_, name) => encodeURIComponent(String(words[name])));
}
