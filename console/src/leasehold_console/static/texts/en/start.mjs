// Texts of the page on which the console begins.
export default /** @type {const} */ ({
  title: "Start",
  needs: "What needs you",
  needs_none: "Nothing needs you now.",
  coming: "What comes next",
  coming_none: "You have no leases ahead.",
  free: "Free hosts, the coming 14 days",
  by: "By",
  free_all: "all hosts",
  free_now: "{free} of {total} free now",
  free_next: "next free {when}",
  free_never: "none is free in these days",
  lease: "Lease one",
  strip: "{name}: how many are free, from now for 14 days",
});
