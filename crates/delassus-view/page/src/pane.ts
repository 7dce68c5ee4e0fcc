/** One view: all bodies as instances, ground, arrows, joint frames. */

import {
  BufferGeometry, Color, DirectionalLight, DoubleSide, DynamicDrawUsage, Float32BufferAttribute, Fog, FrontSide, Group,
  HemisphereLight, InstancedMesh, LineBasicMaterial, LineSegments, Matrix4, Mesh, MeshLambertMaterial, MeshStandardMaterial, PlaneGeometry,
  Quaternion, Raycaster, Scene, ShaderMaterial, Vector2, Vector3, type Intersection, type Object3D, SRGBColorSpace,
} from "three";
import { Arrows } from "./arrows";
import { crowd, type Crowd } from "./crowd";
import { KINEMATIC, PICKED, STATIC, ofBody, scale } from "./colour";
import { slice, type Colour, type BodyLine, type Frame, type Layout, type PaneHead, type ReplayHead, type Vec3 } from "./protocol";
import type { Level } from "./quality";
import { CROWD, form } from "./shapes";

/** One instance: whose it is and where it sits on its body. */
interface Part { body: number; pose: number | null; local: Matrix4 }

/** Equal shapes, and what is drawn in their place where drawing must be quick. */
interface Batch { mesh: InstancedMesh; parts: Part[]; balls: boolean; crowd: Crowd | null }

export interface Look { background: string; ground: string; grid: string; gridBold: string; sky: string; below: string }

/** Numbers at the ends of the colour scale, and the largest there is, which may lie beyond. */
export interface Range { low: number; high: number; most: number; log: boolean; unit: string }

const JOINT_AXES = [new Color("#e5484d"), new Color("#30a46c"), new Color("#3b82f6")];
const JOINT_LINK = new Color("#8a94a3");
/** Where the light comes from. */
const SUN = new Vector3(-0.45, -0.7, 1.25);
const AXES = [new Vector3(1, 0, 0), new Vector3(0, 1, 0), new Vector3(0, 0, 1)];

// Used again for every body and joint: there may be ten thousands.
const ONE = new Vector3(1, 1, 1);
/** Of a shape that is hidden: a point. */
const NOWHERE = new Matrix4().makeScale(0, 0, 0);
const at = new Vector3();
const origin = new Vector3();
const tip = new Vector3();
const turn = new Quaternion();
const axes = new Quaternion();
const matrix = new Matrix4();

export class PaneView {
  readonly scene = new Scene();
  readonly arrows: Arrows;
  range: Range | null = null;
  readonly radius: number;
  readonly centre: Vector3;
  private readonly batches: Batch[] = [];
  private readonly ground = new Group();
  private readonly joints: LineSegments;
  private readonly hand: LineSegments;
  private readonly sun = new DirectionalLight("#ffffff", 2.8);
  private readonly hemisphere = new HemisphereLight("#ffffff", "#888888", 2.1);
  /** Which body was picked when plain colours were last put on; empty for colours that mean something. */
  private painted = "none yet";
  /** Last poses, seven numbers per body that moves. */
  private poses: Float32Array = new Float32Array(0);

  /** Links of robots, or else everything that moves. */
  private readonly moving: BodyLine[];
  private simple = false;
  /** Bodies that are not drawn. */
  private hidden: ReadonlySet<number> = new Set();
  /** Forces of the last frame. */
  private forces: Float32Array = new Float32Array(0);
  /** The point that the hand holds. */
  private held: Vec3 | null = null;

  constructor(readonly layout: Layout, look: Look) {
    const moving = layout.bodies.filter((line) => line.pose !== null);
    const links = moving.filter((line) => line.motion === "link");
    this.moving = links.length ? links : moving;
    const low = new Vector3(...layout.bounds.low);
    const high = new Vector3(...layout.bounds.high);
    this.centre = low.clone().add(high).multiplyScalar(0.5);
    this.radius = Math.max(0.5 * low.distanceTo(high), 1e-3);
    this.arrows = new Arrows(this.radius);
    this.buildBodies();
    this.joints = lines(Math.max(layout.joints.length, 1) * 10, 5);
    this.hand = lines(2, 11);
    this.light();
    this.scene.add(this.ground, this.arrows.group, this.joints, this.hand);
    this.restyle(look);
  }

  private light(): void {
    const reach = 1.25 * this.radius;
    this.shine(this.centre);
    this.sun.castShadow = true;
    // Where only the camera moves, shadows stay.
    this.sun.shadow.autoUpdate = false;
    this.sun.shadow.mapSize.set(2048, 2048);
    this.sun.shadow.normalBias = 0.004 * this.radius;
    this.sun.shadow.bias = -0.0004;
    Object.assign(this.sun.shadow.camera, { left: -reach, right: reach, top: reach, bottom: -reach, near: 0.2 * this.radius, far: 9 * this.radius });
    this.scene.add(this.sun, this.sun.target, this.hemisphere);
  }

  /** Light and shadows stand around a point. */
  shine(at: Vector3): void {
    this.sun.target.position.copy(at);
    this.sun.position.copy(at).addScaledVector(SUN, 3 * this.radius);
  }

  /** Where a body that moves is; where there is none, the middle of all links of robots, or of everything that moves. */
  middle(body: number | null): Vector3 {
    return this.mean(body, (line) => at.fromArray(this.poses, 7 * line.pose!));
  }

  /** The same at the beginning. */
  home(body: number | null): Vector3 {
    return this.mean(body, (line) => at.set(...line.position));
  }

  private mean(body: number | null, place: (line: BodyLine) => Vector3): Vector3 {
    const picked = body === null ? undefined : this.layout.bodies[body];
    const chosen = picked && picked.pose !== null ? [picked] : this.moving;
    const sum = new Vector3();
    for (const line of chosen) sum.add(place(line));
    return chosen.length ? sum.divideScalar(chosen.length) : this.centre.clone();
  }

  /** How finely to draw; shadows only where they are wanted too. */
  setLevel(level: Level, shadows: boolean): void {
    this.sun.castShadow = shadows && level.shadows;
    if (this.simple === level.simple) return;
    this.simple = level.simple;
    for (const batch of this.batches) {
      if (this.simple && !batch.crowd) {
        batch.crowd = crowd(batch.mesh, batch.balls);
        if (batch.crowd) this.scene.add(batch.crowd.mesh);
      }
      batch.mesh.visible = !(this.simple && batch.crowd);
      if (batch.crowd) batch.crowd.mesh.visible = this.simple;
      // It has not followed while it was not seen.
      if (this.simple) batch.crowd?.move();
      if (this.simple) batch.crowd?.paint();
    }
  }

  restyle(look: Look): void {
    const background = new Color(look.background);
    this.scene.background = background;
    this.scene.fog = new Fog(background, 7 * this.radius, 22 * this.radius);
    this.hemisphere.color.set(look.sky);
    this.hemisphere.groundColor.set(look.below);
    this.ground.clear();
    let level = false;
    const wide = 30 * this.radius;
    for (const collider of this.layout.colliders) {
      if (this.layout.shapes[collider.shape] !== "half-space") continue;
      const body = this.layout.bodies[collider.body];
      if (!body) continue;
      const holder = new Group();
      holder.position.set(...body.position);
      holder.quaternion.set(...body.orientation);
      const inner = new Group();
      inner.position.set(...collider.position);
      inner.quaternion.set(...collider.rotation);
      holder.add(inner);
      const up = new Vector3(0, 0, 1).applyQuaternion(inner.quaternion).applyQuaternion(holder.quaternion);
      if (0.5 < Math.abs(up.z)) {
        level = true;
        inner.add(floor(wide, look), grid(wide, this.radius, look));
      } else {
        inner.add(this.wall(look, holder, inner));
      }
      this.ground.add(holder);
    }
    if (!level) {
      const lines = grid(wide, this.radius, look);
      lines.position.z = this.layout.bounds.low[2] - 0.02 * this.radius;
      lines.position.x = this.centre.x;
      lines.position.y = this.centre.y;
      this.ground.add(lines);
    }
  }

  /** A wall seen from inside only, as large as the scene. */
  private wall(look: Look, holder: Group, inner: Group): Object3D {
    holder.updateMatrixWorld(true);
    const size = new Vector3(...this.layout.bounds.high).sub(new Vector3(...this.layout.bounds.low));
    const middle = inner.worldToLocal(this.centre.clone());
    const inverse = inner.getWorldQuaternion(new Quaternion()).invert();
    const x = new Vector3(1, 0, 0).applyQuaternion(inverse);
    const y = new Vector3(0, 1, 0).applyQuaternion(inverse);
    const z = new Vector3(0, 0, 1).applyQuaternion(inverse);
    const along = (axis: "x" | "y") => Math.abs(x[axis]) * size.x + Math.abs(y[axis]) * size.y + Math.abs(z[axis]) * size.z;
    const material = new MeshStandardMaterial({ color: look.grid, transparent: true, opacity: 0.22, side: FrontSide, depthWrite: false });
    const mesh = new Mesh(new PlaneGeometry(1.06 * along("x"), 1.06 * along("y")), material);
    mesh.position.set(middle.x, middle.y, 0);
    return mesh;
  }

  private buildBodies(): void {
    const groups = new Map<string, { make: () => BufferGeometry; parts: Part[]; flat: boolean; balls: boolean }>();
    const count = this.layout.colliders.length;
    for (const collider of this.layout.colliders) {
      const shape = this.layout.shapes[collider.shape];
      const body = this.layout.bodies[collider.body];
      const found = shape === undefined ? null : form(shape, collider.shape, count);
      if (!found || !body) continue;
      const local = new Matrix4().compose(new Vector3(...collider.position), new Quaternion(...collider.rotation), found.scale);
      const flat = typeof shape === "object" && ("hull" in shape || "mesh" in shape || "height-field" in shape);
      let group = groups.get(found.key);
      if (!group) groups.set(found.key, (group = { make: found.make, parts: [], flat, balls: found.key === "sphere" }));
      group.parts.push({ body: collider.body, pose: body.pose, local });
    }
    for (const { make, parts, flat, balls } of groups.values()) {
      const side = flat ? DoubleSide : FrontSide;
      const material = count < CROWD ? new MeshStandardMaterial({ roughness: 0.62, metalness: 0.02, flatShading: flat, side }) : new MeshLambertMaterial({ flatShading: flat, side });
      const mesh = new InstancedMesh(make(), material, parts.length);
      mesh.instanceMatrix.setUsage(DynamicDrawUsage);
      mesh.frustumCulled = false;
      mesh.castShadow = true;
      mesh.receiveShadow = true;
      this.batches.push({ mesh, parts, balls, crowd: null });
      this.scene.add(mesh);
      parts.forEach((part, i) => {
        const body = this.layout.bodies[part.body]!;
        this.putStill(mesh, part, i, body);
        mesh.setColorAt(i, this.plain(part.body));
      });
    }
  }

  /** Puts a shape where its body is at the beginning, or nowhere where that is hidden. */
  private putStill(mesh: InstancedMesh, part: Part, i: number, body: BodyLine): void {
    matrix.compose(at.set(...body.position), turn.set(...body.orientation), ONE).multiply(part.local);
    mesh.setMatrixAt(i, this.hidden.has(part.body) ? NOWHERE : matrix);
  }

  /** Draws all bodies but these. */
  hide(hidden: ReadonlySet<number>): void {
    this.hidden = hidden;
    this.drawArrows();
    for (const { mesh, parts, crowd } of this.batches) {
      parts.forEach((part, i) => {
        if (part.pose === null) this.putStill(mesh, part, i, this.layout.bodies[part.body]!);
      });
      mesh.instanceMatrix.needsUpdate = true;
      if (this.simple) crowd?.move();
    }
    this.sun.shadow.needsUpdate = true;
  }

  /** Forces between bodies of which one is seen; the ground alone does not make one seen. */
  private drawArrows(): void {
    const never = (body: number) => this.layout.bodies[body]?.motion === "static";
    const unseen = (body: number) => body < 0 || this.hidden.has(body) || never(body);
    // Where nothing is hidden nothing is left out.
    this.arrows.update(this.forces, 0 < this.hidden.size ? unseen : () => false);
  }

  /** Shadows are drawn anew with the next picture. */
  renewShadows(): void {
    this.sun.shadow.needsUpdate = true;
  }

  private plain(body: number): Color {
    const line = this.layout.bodies[body];
    // Colours are those of a screen, as in a picture.
    if (line?.colour) return new Color().setRGB(...line.colour, SRGBColorSpace);
    const motion = line?.motion;
    if (motion === "static") return STATIC;
    return motion === "kinematic" ? KINEMATIC : ofBody(body);
  }

  /** Puts everything where the frame says. */
  update(frame: Frame, live: PaneHead | null, show: { contacts: boolean; joints: boolean; colour: Colour; selected: number | null }): void {
    const pane: PaneHead | ReplayHead | null = live ?? frame.head.replay;
    if (!pane) return;
    this.poses = slice(frame, pane.poses);
    this.sun.shadow.needsUpdate = true;
    this.move();
    this.paint(slice(frame, pane.colours), show.colour, show.selected);
    this.forces = show.contacts ? slice(frame, pane.arrows) : new Float32Array(0);
    this.drawArrows();
    this.joints.visible = show.joints;
    if (show.joints) this.drawJoints();
    this.held = live?.hand?.[0] ?? null;
    this.reach(live?.hand?.[1] ?? null);
  }

  /** Draws the hand from what it holds to where the mouse is, which the server hears of only later. */
  reach(target: Vec3 | null): void {
    this.hand.visible = this.held !== null && target !== null;
    if (!this.held || !target) return;
    const strip = new Strip(this.hand);
    strip.add(at.set(...this.held), tip.set(...target), PICKED);
    strip.close();
  }

  private move(): void {
    for (const { mesh, parts, crowd } of this.batches) {
      let moved = false;
      for (let i = 0; i < parts.length; i++) {
        const part = parts[i]!;
        if (part.pose === null) continue;
        moved = true;
        if (this.hidden.has(part.body)) {
          NOWHERE.toArray(mesh.instanceMatrix.array, 16 * i);
          continue;
        }
        at.fromArray(this.poses, 7 * part.pose);
        turn.fromArray(this.poses, 7 * part.pose + 3);
        matrix.compose(at, turn, ONE).multiply(part.local);
        matrix.toArray(mesh.instanceMatrix.array, 16 * i);
      }
      if (!moved) continue;
      mesh.instanceMatrix.needsUpdate = true;
      if (this.simple) crowd?.move();
    }
  }

  private paint(values: Float32Array, colour: Colour, selected: number | null): void {
    const coloured = colour !== "body" && values.length > 0;
    const key = coloured ? "" : String(selected);
    if (key !== "" && key === this.painted) return;
    this.painted = key;
    this.range = coloured ? rangeOf(values, colour, this.range) : null;
    const out = new Color();
    for (const { mesh, parts, crowd } of this.batches) {
      for (let i = 0; i < parts.length; i++) {
        const part = parts[i]!;
        let chosen = this.plain(part.body);
        if (part.body === selected) chosen = PICKED;
        else if (this.range && part.pose !== null) chosen = scale(place(values[part.pose] ?? 0, this.range), out);
        chosen.toArray(mesh.instanceColor!.array, 3 * i);
      }
      mesh.instanceColor!.needsUpdate = true;
      if (this.simple) crowd?.paint();
    }
  }

  /** Puts the pose of a body, or of the world, into the scratch. */
  private poseOf(body: number | null): void {
    at.set(0, 0, 0);
    turn.identity();
    if (body === null) return;
    const line = this.layout.bodies[body]!;
    if (line.pose === null) {
      at.set(...line.position);
      turn.set(...line.orientation);
    } else {
      at.fromArray(this.poses, 7 * line.pose);
      turn.fromArray(this.poses, 7 * line.pose + 3);
    }
  }

  private drawJoints(): void {
    const strip = new Strip(this.joints);
    const length = Math.min(0.07 * this.radius, 0.5);
    for (const joint of this.layout.joints) {
      for (let side = 0; side < 2; side++) {
        const body = joint.bodies[side] ?? null;
        const frame = joint.frames[side]!;
        this.poseOf(body);
        origin.set(...frame.origin).applyQuaternion(turn).add(at);
        if (body !== null) strip.add(at, origin, JOINT_LINK);
        if (side === 1) continue;
        axes.set(...frame.axes).premultiply(turn);
        AXES.forEach((axis, k) => strip.add(origin, tip.copy(axis).applyQuaternion(axes).multiplyScalar(length).add(origin), JOINT_AXES[k]!));
      }
    }
    strip.close();
  }

  /** The body under a ray, and where it is hit. */
  pick(ray: Raycaster): { body: number; point: Vec3 } | null {
    const hits: { hit: Intersection; body: number }[] = [];
    for (const { mesh, parts } of this.batches) {
      mesh.computeBoundingSphere();
      for (const hit of ray.intersectObject(mesh, false)) {
        const part = parts[hit.instanceId ?? -1];
        if (part && !this.hidden.has(part.body)) hits.push({ hit, body: part.body });
      }
    }
    hits.sort((a, b) => a.hit.distance - b.hit.distance);
    const first = hits[0];
    return first ? { body: first.body, point: first.hit.point.toArray() } : null;
  }

  dispose(): void {
    this.arrows.dispose();
    this.scene.traverse((object) => {
      if (object instanceof Mesh || object instanceof LineSegments) {
        object.geometry.dispose();
        for (const material of [object.material].flat()) material.dispose();
      }
      if (object instanceof InstancedMesh) object.dispose();
    });
    this.sun.shadow.map?.dispose();
  }
}

/** Share of the numbers that lie within the colour scale: a few that are far larger must not hide all others. */
const WITHIN = 0.95;

/** Ends of the colour scale; they grow at once and shrink slowly. */
function rangeOf(values: Float32Array, colour: Colour, last: Range | null): Range {
  const known = values.filter((x) => 0 < x && x < Infinity).sort();
  const log = colour === "residual";
  const unit = log ? "m/s" : "N";
  const most = known.at(-1) ?? 0;
  const low = known[0] ?? 0;
  const usual = known[Math.floor(WITHIN * (known.length - 1))] ?? 0;
  // A logarithm shows them all; where all are alike nothing is hidden either.
  let high = log || most <= 3 * usual ? most : usual;
  if (last?.unit === unit) high = Math.max(high, 0.96 * last.high);
  if (high <= 0) high = log ? 1e-9 : 1;
  return { low: log ? Math.max(Math.min(low, 0.1 * high), 1e-5 * high) : 0, high, most, log, unit };
}

function place(x: number, range: Range): number {
  if (!range.log) return Math.min(x / range.high, 1);
  if (x <= range.low) return 0;
  return Math.log(x / range.low) / Math.log(range.high / range.low);
}

function floor(size: number, look: Look): Mesh {
  const mesh = new Mesh(new PlaneGeometry(2 * size, 2 * size), new MeshStandardMaterial({ color: look.ground, roughness: 1, polygonOffset: true, polygonOffsetFactor: 1, polygonOffsetUnits: 8 }));
  mesh.receiveShadow = true;
  return mesh;
}

/** Lines one, two or five times a power of ten apart, drawn by the shader: even at any distance, gone in the haze. */
function grid(size: number, radius: number, look: Look): Object3D {
  const wanted = 0.25 * radius;
  const power = 10 ** Math.floor(Math.log10(wanted));
  const cell = [5, 2, 1].map((k) => k * power).find((c) => c <= wanted) ?? power;
  const material = new ShaderMaterial({
    transparent: true,
    depthWrite: false,
    side: DoubleSide,
    uniforms: {
      fine: { value: new Color(look.grid) },
      bold: { value: new Color(look.gridBold) },
      cell: { value: cell },
      haze: { value: new Vector2(5 * radius, 16 * radius) },
    },
    vertexShader: `
      varying vec2 at;
      varying float far;
      void main() {
        at = position.xy;
        vec4 seen = modelViewMatrix * vec4(position, 1.0);
        far = -seen.z;
        gl_Position = projectionMatrix * seen;
      }`,
    fragmentShader: `
      uniform vec3 fine, bold;
      uniform float cell;
      uniform vec2 haze;
      varying vec2 at;
      varying float far;
      float line(vec2 p) {
        vec2 width = fwidth(p);
        vec2 away = abs(fract(p - 0.5) - 0.5) / width;
        vec2 sharp = clamp(1.0 - away, 0.0, 1.0) * (1.0 - smoothstep(0.25, 0.6, width));
        return max(sharp.x, sharp.y);
      }
      void main() {
        float thick = line(at / (5.0 * cell));
        float alpha = max(0.3 * line(at / cell), 0.6 * thick) * (1.0 - smoothstep(haze.x, haze.y, far));
        gl_FragColor = vec4(mix(fine, bold, thick), alpha);
        #include <colorspace_fragment>
      }`,
  });
  const mesh = new Mesh(new PlaneGeometry(2 * size, 2 * size), material);
  mesh.position.z = 0.001 * radius;
  return mesh;
}

function lines(points: number, order: number): LineSegments {
  const geometry = new BufferGeometry();
  geometry.setAttribute("position", new Float32BufferAttribute(new Float32Array(3 * points), 3));
  geometry.setAttribute("color", new Float32BufferAttribute(new Float32Array(3 * points), 3));
  const object = new LineSegments(geometry, new LineBasicMaterial({ vertexColors: true, depthTest: false, transparent: true }));
  object.frustumCulled = false;
  object.renderOrder = order;
  object.visible = false;
  return object;
}

/** Writes line segments into the arrays of an object, which have room for them. */
class Strip {
  private n = 0;
  private readonly position: Float32BufferAttribute;
  private readonly colour: Float32BufferAttribute;

  constructor(private readonly object: LineSegments) {
    this.position = object.geometry.getAttribute("position") as Float32BufferAttribute;
    this.colour = object.geometry.getAttribute("color") as Float32BufferAttribute;
  }

  add(from: Vector3, to: Vector3, colour: Color): void {
    for (const point of [from, to]) {
      point.toArray(this.position.array, 3 * this.n);
      colour.toArray(this.colour.array, 3 * this.n);
      this.n += 1;
    }
  }

  close(): void {
    this.position.needsUpdate = true;
    this.colour.needsUpdate = true;
    this.object.geometry.setDrawRange(0, this.n);
  }
}
