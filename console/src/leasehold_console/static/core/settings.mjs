// What a person chooses for this browser: zone and theme. And the clock.

import { computed, effect, signal } from "../vendor/signals-core/signals-core.mjs";

const OWN_ZONE = Intl.DateTimeFormat().resolvedOptions().timeZone;
const THEMES = /** @type {const} */ (["system", "light", "dark"]);

/** @typedef {typeof THEMES[number]} Theme */

/** @param {string} key @param {string} otherwise */
function kept(key, otherwise) {
  return localStorage.getItem(`leasehold.${key}`) ?? otherwise;
}

/** @param {string} zone */
function isZone(zone) {
  try {
    new Intl.DateTimeFormat("en", { timeZone: zone });
    return true;
  } catch {
    return false;
  }
}

const keptZone = kept("zone", OWN_ZONE);
/** The zone in which all times are shown and typed. */
export const zone = signal(isZone(keptZone) ? keptZone : "UTC");
/** Zones to choose from: that of the browser, UTC, and one of another name that was chosen before. */
export const zones = computed(() => [...new Set([OWN_ZONE, "UTC", zone.value])]);

/** @type {import("../vendor/signals-core/signals-core.mjs").Signal<Theme>} */
export const theme = signal(THEMES.find((each) => each === kept("theme", "system")) ?? "system");
const dark = matchMedia("(prefers-color-scheme: dark)");
const systemIsDark = signal(dark.matches);
/** What the theme comes to. */
export const shade = computed(() => (theme.value === "system" ? (systemIsDark.value ? "dark" : "light") : theme.value));
export const nextTheme = () => {
  theme.value = THEMES[(THEMES.indexOf(theme.peek()) + 1) % THEMES.length] ?? "system";
};

/** The moment, to ten seconds: what shows relative times reads it. */
export const now = signal(Date.now());

/** Keeps the choices, shows the theme, and lets the clock go. */
export function beginSettings() {
  setInterval(() => {
    now.value = Date.now();
  }, 10_000);
  dark.addEventListener("change", () => {
    systemIsDark.value = dark.matches;
  });
  effect(() => {
    localStorage.setItem("leasehold.zone", zone.value);
  });
  effect(() => {
    localStorage.setItem("leasehold.theme", theme.value);
    document.documentElement.dataset.theme = shade.value;
  });
}
