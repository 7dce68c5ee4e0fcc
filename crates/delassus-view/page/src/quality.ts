/** How finely to draw: what the user asked for, or as finely as the machine keeps up with. */

export const QUALITIES = ["automatic", "full", "fast"] as const;
export type Quality = (typeof QUALITIES)[number];

/** What is left out, from nothing to all that matters. */
export interface Level { about: string; shadows: boolean; simple: boolean; pixels: number }

export const LEVELS: readonly Level[] = [
  { about: "in full", shadows: true, simple: false, pixels: 1 },
  { about: "without shadows", shadows: false, simple: false, pixels: 1 },
  { about: "simple shapes, no shadows", shadows: false, simple: true, pixels: 1 },
  { about: "simple shapes, coarse pixels", shadows: false, simple: true, pixels: 0.5 },
];
const FINEST = 0;
const COARSEST = LEVELS.length - 1;

/** A picture that takes longer than this is too slow, and one that is quicker leaves room for more [ms]. */
const SLOW = 60;
const QUICK = 33;
/** Pictures after a change that say little: they compile shaders and fill buffers. */
const WARM = 2;
/** Pictures whose median decides to draw coarser, and finer. */
const FEW = 3;
const MANY = 20;
/** What was too slow is tried again after so long [ms]. */
const FORGET = 60_000;

/** Chooses the level from the time pictures take. */
export class Governor {
  level: number;
  private times: number[] = [];
  private toSkip = WARM;
  /** The finest level not known to be too slow, and since when. */
  private finest = FINEST;
  private since = 0;

  /** Without a graphics processor one begins at the coarse end: there a picture in full may take seconds. */
  constructor(private readonly software: boolean, private asked: Quality) {
    this.level = this.first();
  }

  private first(): number {
    if (this.asked === "full") return FINEST;
    return this.asked === "fast" || this.software ? COARSEST : FINEST;
  }

  get isAutomatic(): boolean {
    return this.asked === "automatic";
  }

  ask(quality: Quality): void {
    this.asked = quality;
    this.restart();
  }

  /** Another scene, or another number of views: what was measured is void. */
  restart(): void {
    this.finest = FINEST;
    this.go(this.first());
  }

  /** A picture took so long; true where the next one is to be drawn otherwise. */
  took(milliseconds: number, now: number): boolean {
    if (this.asked !== "automatic" || 0 < this.toSkip--) return false;
    this.times.push(milliseconds);
    if (FORGET < now - this.since) this.finest = FINEST;
    if (this.level < COARSEST && FEW <= this.times.length && SLOW < median(this.times.slice(-FEW))) {
      this.finest = this.level + 1;
      this.since = now;
      this.go(this.finest);
      return true;
    }
    if (this.times.length < MANY) return false;
    const quick = median(this.times) < QUICK;
    this.times.shift();
    if (!quick || this.level <= this.finest) return false;
    this.go(this.level - 1);
    return true;
  }

  private go(level: number): void {
    this.level = level;
    this.times = [];
    this.toSkip = WARM;
  }
}

function median(numbers: number[]): number {
  return [...numbers].sort((a, b) => a - b)[numbers.length >> 1]!;
}

/** Whether the processor itself draws, as far as the browser tells. */
export function drawnBySoftware(): boolean {
  const gl = document.createElement("canvas").getContext("webgl2");
  const details = gl?.getExtension("WEBGL_debug_renderer_info");
  const name = gl ? String(gl.getParameter(details ? details.UNMASKED_RENDERER_WEBGL : gl.RENDERER)) : "";
  gl?.getExtension("WEBGL_lose_context")?.loseContext();
  return /swiftshader|llvmpipe|softpipe|software|basic render/i.test(name);
}
