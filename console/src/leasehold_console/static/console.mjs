/** Says who is signed in; where nobody has to prove who they are, signs in as the caller that the service suggests. */

const HEADERS = { "X-Leasehold-Console": "1" };

/** @returns {Promise<any>} who is signed in, or how one can sign in */
async function whoAmI() {
  const asked = await (await fetch("./session", { headers: HEADERS })).json();
  if (asked.session !== null || !asked.sign_in.act_as) return asked;
  const headers = { ...HEADERS, "Content-Type": "application/json", "X-Leasehold-Person": "1" };
  const body = JSON.stringify({ act_as: asked.sign_in.act_as });
  return (await fetch("./session", { method: "POST", headers, body })).json();
}

const { session, sign_in: ways } = await whoAmI();
const who = /** @type {HTMLElement} */ (document.querySelector("#who"));
who.textContent = session === null
  ? `Sign in by ${ways.methods.join(", ")}.`
  : `You are ${session.user.name} in the project ${session.project.name}.`;
