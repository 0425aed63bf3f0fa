// Sizes and type of the picture.

export const AXIS = 44;
/** From this height on rows have names; below the next one they are a heat map. */
export const NAMED = 14;
/** The width of the names on a phone. */
export const NARROW = 108;
export const HEATED = 2.5;
export const FONT = '12px "Inter Variable", system-ui, sans-serif';
export const SMALL = '11px "Inter Variable", system-ui, sans-serif';
export const BOLD = '600 12px "Inter Variable", system-ui, sans-serif';
