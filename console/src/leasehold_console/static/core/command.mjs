// What people copy into a terminal. Pure.

/** Text as one word of a shell. @param {string} text */
export function quoted(text) {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}

/**
 * A request as a command. LEASEHOLD is the address of the service with its version, OS_TOKEN a token.
 * @param {string} method @param {string} path "/v1/leases" @param {unknown} [body]
 */
export function curl(method, path, body) {
  const lines = [
    `curl -X ${method} "$LEASEHOLD${path.replace(/^\/v1/, "")}"`,
    `-H "X-Auth-Token: $OS_TOKEN"`,
    `-H "OpenStack-API-Version: reservation 1.3"`,
  ];
  if (body !== undefined) lines.push(`-H "Content-Type: application/json"`, `-d ${quoted(JSON.stringify(body))}`);
  return lines.join(" \\\n  ");
}
