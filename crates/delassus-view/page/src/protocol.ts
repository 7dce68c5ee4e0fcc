/** What the server sends and takes; see `crates/delassus-view/docs/view.md` and `crates/delassus-view/src/message.rs`. */

export type Vec3 = [number, number, number];
export type Quat = [number, number, number, number];

export interface SceneLine { name: string; size: number; limit: number; about: string }
export interface SolverLine { name: string; keys: [string, string][]; about: string }

export interface Welcome {
  type: "welcome";
  version: string;
  file: string | null;
  most_bodies: number;
  scenes: SceneLine[];
  solvers: SolverLine[];
}

export type Shape =
  | "half-space"
  | { sphere: { radius: number } }
  | { box: { half: Vec3 } }
  | { capsule: { half_length: number; radius: number } }
  | { cylinder: { half_length: number; radius: number } }
  | { hull: { points: Vec3[] } }
  | { mesh: { vertices: Vec3[]; triangles: Vec3[] } }
  | { "height-field": { rows: number; columns: number; heights: number[]; size: Vec3 } };

export interface BodyLine {
  name: string;
  motion: "static" | "kinematic" | "dynamic" | "link" | "gone";
  mass: number;
  position: Vec3;
  orientation: Quat;
  pose: number | null;
  /** The link that carries it. */
  parent: number | null;
  /** Red, green and blue from 0 to 1, where the scene says. */
  colour: Vec3 | null;
}

/** A place to look from that the scene has; its picture is so many degrees high. */
export interface CameraLine { name: string; position: Vec3; target: Vec3; up: Vec3; field: number }

/** A joint of a robot that can be turned by hand. */
export interface DialLine {
  robot: string;
  name: string;
  kind: "hinge" | "slide";
  body: number | null;
  range: [number, number] | null;
  actuator: "position" | { force: number } | null;
}

export interface JointLine {
  name: string;
  kind: string;
  bodies: [number | null, number | null];
  frames: [{ origin: Vec3; axes: Quat }, { origin: Vec3; axes: Quat }];
}

export interface Sample {
  step: number;
  time: number;
  law: number | null;
  penetration: number;
  kinetic: number;
  potential: number;
  ms: number;
  iterations: number;
}

export interface Layout {
  type: "scene";
  epoch: number;
  name: string;
  title: string;
  bodies: BodyLine[];
  shapes: Shape[];
  colliders: { body: number; shape: number; position: Vec3; rotation: Quat }[];
  joints: JointLine[];
  dials: DialLine[];
  keyframes: { robot: string; name: string }[];
  bounds: { low: Vec3; high: Vec3 };
  cameras: CameraLine[];
  recording: { frames: number; duration: number; samples: Sample[] } | null;
}

export interface Choice { spec: string; tolerance: number; iterations: number }
export type FrictionLaw = "cone" | "box" | "ellipsoid" | { facets: number };
export interface Parameters { dt: number; substeps: number; gravity: Vec3; friction: number | null; law: FrictionLaw }
export type Colour = "body" | "force" | "residual";
export interface Display { contacts: boolean; colour: Colour; history: boolean }

export interface Settings {
  type: "settings";
  playing: boolean;
  speed: number;
  selected: number | null;
  panes: Choice[];
  parameters: Parameters | null;
  display: Display | null;
}

export interface Notice { type: "notice"; text: string }
/** A file that this page or another asked for. */
export interface FileEvent { type: "file"; tag: number; name: string; text: string }
/** Plotted numbers that a page has missed. */
export interface SamplesEvent { type: "samples"; epoch: number; panes: Sample[][] }
export type Event = Welcome | Layout | Settings | Notice | FileEvent | SamplesEvent;

export interface Span { start: number; count: number }

export interface Numbers {
  solver: string;
  options: Record<string, string>;
  fit: string;
  status: string;
  iterations: number;
  residual: {
    law: number | null; law_rms: number | null; relative: number | null; momentum: number | null;
    feasibility: number | null; complementarity: number | null; worst_block: number | null;
  };
  /** Whose block has the largest law residual. */
  worst: string | null;
  unsolved: number;
  fallbacks: number;
  contacts: number;
  penetration: number;
  violation: number;
  energy: { kinetic: number; potential: number; momentum: Vec3; angular_momentum: Vec3 };
  clock: { collide: number; assemble: number; solve: number; integrate: number };
  solver_s: number;
  message: string | null;
  history: [number, number | null, number][];
}

export interface Selected {
  body: number;
  position: Vec3;
  velocity: Vec3 | null;
  spin: Vec3 | null;
  kinetic: number | null;
  contacts: number;
  contact_force: Vec3;
  residual: number | null;
  asleep: boolean;
}

export interface PaneHead {
  solver: string;
  numbers: Numbers | null;
  samples: Sample[];
  poses: Span;
  arrows: Span;
  colours: Span;
  dials: Span;
  selected: Selected | null;
  hand: [Vec3, Vec3] | null;
}

/** What a recording, or the world of another program, shows. */
export type ReplayHead = Pick<PaneHead, "poses" | "arrows" | "colours" | "dials" | "selected">;

export interface Head {
  epoch: number;
  frame: number;
  playing: boolean;
  rate: number;
  time: number;
  step: number;
  panes: PaneHead[];
  apart: [number, number] | null;
  /** First and last step that a live run can go back to. */
  past: [number, number] | null;
  replay: ReplayHead | null;
}

export interface Frame { head: Head; floats: Float32Array }

/** Splits a frame into its head and its numbers. */
export function decode(buffer: ArrayBuffer): Frame {
  const length = new DataView(buffer).getUint32(0, true);
  const text = new TextDecoder().decode(new Uint8Array(buffer, 4, length));
  return { head: JSON.parse(text) as Head, floats: new Float32Array(buffer, 4 + length) };
}

export function slice(frame: Frame, span: Span): Float32Array {
  return frame.floats.subarray(span.start, span.start + span.count);
}

export type Command =
  | { type: "play"; on: boolean }
  | { type: "step"; count: number }
  | { type: "speed"; factor: number }
  | { type: "reset" }
  | { type: "scene"; name: string }
  | ({ type: "solver"; pane: number } & Choice)
  | { type: "split"; on: boolean }
  | ({ type: "parameters" } & Parameters)
  | ({ type: "display" } & Display)
  | { type: "select"; body: number | null }
  | { type: "grab"; pane: number; body: number; point: Vec3 }
  | { type: "drag"; target: Vec3 }
  | { type: "release" }
  | { type: "seek"; frame: number }
  | { type: "joint"; dial: number; position: number }
  | { type: "actuator"; dial: number; value: number }
  | { type: "keyframe"; index: number }
  | { type: "problem"; tag: number }
  | { type: "state"; tag: number }
  | { type: "samples"; after: number }
  | { type: "ack"; frame: number };
