// Texts of the page of capacity.
export default /** @type {const} */ ({
  title: "Capacity",
  property: "Only those with",
  any: "all of them",
  span: "Days before and after now",
  total: "Total",
  reserved: "Reserved",
  held_back: "Held back",
  free: "Free",
  says: "The line is now. The past shows what was reserved or otherwise taken; how many there were then is not recorded.",
  held_says: "Held back are those that cannot be leased at present, such as failed and disabled ones.",
  now_total: "There are {total} hosts; {reserved} are reserved now, {held} are held back, {free} are free.",
  steps: "The same as a table",
  from: "From",
  unknown: "–",
});
