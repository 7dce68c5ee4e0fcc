/** Colours of bodies, and the scale that turns a number into one. */

import { Color } from "three";

const BODIES = ["#5b8def", "#e8935a", "#57a773", "#c46fa5", "#d9b44a", "#6f7fd1", "#4fb0ae", "#d0696a", "#8f9e4f", "#9a7bc4"]
  .map((text) => new Color(text));
export const STATIC = new Color("#9aa3ae");
export const KINEMATIC = new Color("#7d8aa0");
export const PICKED = new Color("#ff8a00");
/** The two views. */
export const PANES = ["#2f6fed", "#e0662f"] as const;

export function ofBody(index: number): Color {
  return BODIES[index % BODIES.length] as Color;
}

/** Stops of a scale that is even to the eye and to the colour-blind. */
const SCALE = ["#31185a", "#3f4a8a", "#31688e", "#21908d", "#35b779", "#90d743", "#fde725"].map((text) => new Color(text));

export function scale(t: number, out: Color): Color {
  const x = Math.min(Math.max(t, 0), 1) * (SCALE.length - 1);
  const i = Math.min(Math.floor(x), SCALE.length - 2);
  return out.copy(SCALE[i] as Color).lerp(SCALE[i + 1] as Color, x - i);
}

export function gradient(): string {
  return `linear-gradient(to right, ${SCALE.map((c) => `#${c.getHexString()}`).join(", ")})`;
}
