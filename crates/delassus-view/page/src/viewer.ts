/** The canvas: one camera for all views, drawing only when something changed, picking and dragging. */

import { PCFShadowMap, PerspectiveCamera, Plane, Quaternion, Raycaster, Vector2, Vector3, WebGLRenderer, type Scene } from "three";
import { OrbitControls } from "three/examples/jsm/controls/OrbitControls.js";
import { PaneView, type Look } from "./pane";
import type { CameraLine, Colour, Frame, Layout, Vec3 } from "./protocol";
import { Governor, LEVELS, drawnBySoftware, type Level, type Quality } from "./quality";

/** Pixels the mouse must move before a pick becomes a drag. */
const STIR = 4;
const FIELD = 34;
/** Height of what stands above the scene [px]. */
const LABELS = 40;
/** A picture that takes longer than this is waited for: more of them under way would only come later [ms]. */
const PATIENCE = 40;
/** One that takes longer than this is lost [ms]. */
const LOST = 30_000;
/** After so long without anything new, what stands still is drawn in full [ms]. */
const REST = 350;
/** Shapes up to which a picture that stands still is drawn with smooth edges, and with shadows. */
const FEW = 1500;
const MANY = 4000;

/** Directions one can look from. */
export const VIEWS = {
  corner: new Vector3(0.55, -1, 0.42),
  front: new Vector3(0, -1, 0.08),
  side: new Vector3(1, 0, 0.08),
  top: new Vector3(0, -0.001, 1),
} as const;
export type View = keyof typeof VIEWS;

export interface Show { contacts: boolean; joints: boolean; shadows: boolean; follow: boolean; colour: Colour; selected: number | null }

export interface Hands {
  pick(body: number | null): void;
  grab(pane: number, body: number, point: Vec3): void;
  drag(target: Vec3): void;
  release(): void;
}

export class Viewer {
  panes: PaneView[] = [];
  show: Show = { contacts: true, joints: false, shadows: true, follow: false, colour: "body", selected: null };
  /** Frames drawn, for whoever wants to know. */
  drawn = 0;
  /** Milliseconds the last frame took to put into place, drawing left out. */
  cost = 0;
  /** Milliseconds the last picture took to draw, as far as it is known. */
  took = 0;
  private readonly renderer: WebGLRenderer;
  private readonly software = drawnBySoftware();
  private readonly governor: Governor;
  /** The picture that is being drawn, and since when. */
  private underWay: { fence: WebGLSync; since: number; still: boolean } | null = null;
  /** What is on the screen is drawn in full, because it stands still; and since when it may be. */
  private still = false;
  private since = 0;
  private hidden: ReadonlySet<number> = new Set();
  private readonly camera = new PerspectiveCamera(FIELD, 1, 0.01, 1000);
  private readonly controls: OrbitControls;
  private layout: Layout | null = null;
  private frame: Frame | null = null;
  private stale = true;
  private fresh = false;
  /** What the camera follows: whom, and where it was when the camera last moved with it. */
  private followed: { body: number | null; at: Vector3 } | null = null;
  private press: { x: number; y: number; pane: number; body: number; point: Vector3; plane: Plane; held: boolean; target: Vec3 | null } | null = null;

  constructor(
    private readonly canvas: HTMLCanvasElement, private look: Look, quality: Quality, private readonly hands: Hands,
    private readonly onDrawn: (frame: Frame) => void, private readonly onLevel: (level: Level) => void,
  ) {
    this.governor = new Governor(this.software, quality);
    // Smooth edges cannot be switched on or off later.
    const antialias = quality === "full" || !this.software;
    this.renderer = new WebGLRenderer({ canvas, antialias, powerPreference: "high-performance" });
    this.renderer.shadowMap.enabled = true;
    this.renderer.shadowMap.type = PCFShadowMap;
    this.renderer.autoClear = false;
    this.camera.up.set(0, 0, 1);
    this.controls = new OrbitControls(this.camera, canvas);
    this.controls.addEventListener("change", () => (this.stale = true));
    this.controls.maxPolarAngle = 0.94 * Math.PI;
    new ResizeObserver(() => this.resize()).observe(canvas.parentElement!);
    this.listen();
    this.resize();
    const loop = () => {
      // First, so that a fault in one frame does not end all later ones.
      requestAnimationFrame(loop);
      this.tick();
    };
    requestAnimationFrame(loop);
  }

  setLayout(layout: Layout, panes: number): void {
    const again = this.layout?.name === layout.name;
    this.panes.forEach((pane) => pane.dispose());
    this.layout = layout;
    this.panes = Array.from({ length: panes }, () => new PaneView(layout, this.look));
    this.press = null;
    this.panes.forEach((pane) => pane.hide(this.hidden));
    if (!again) this.governor.restart();
    this.relevel();
    if (!again) this.fit();
    this.fresh = true;
    this.stale = true;
  }

  setPanes(count: number): void {
    if (!this.layout || this.panes.length === count) return;
    while (count < this.panes.length) this.panes.pop()!.dispose();
    while (this.panes.length < count) this.panes.push(new PaneView(this.layout, this.look));
    this.panes.forEach((pane) => pane.hide(this.hidden));
    this.governor.restart();
    this.relevel();
    this.fit(true);
  }

  setLook(look: Look): void {
    this.look = look;
    this.panes.forEach((pane) => pane.restyle(look));
    this.stale = true;
  }

  setShow(show: Partial<Show>): void {
    Object.assign(this.show, show);
    this.fresh = true;
  }

  /** Draws all bodies but these. */
  hide(hidden: ReadonlySet<number>): void {
    this.hidden = hidden;
    this.panes.forEach((pane) => pane.hide(hidden));
    this.fresh = true;
    this.stale = true;
  }

  setQuality(quality: Quality): void {
    this.governor.ask(quality);
    this.relevel();
  }

  /** Whether what is on the screen was drawn in full because it stands still. */
  get isStill(): boolean {
    return this.still;
  }

  /** What is on the screen as a file. */
  picture(take: (picture: Blob) => void): void {
    this.draw();
    this.canvas.toBlob((picture) => picture && take(picture));
  }

  get level(): Level {
    return LEVELS[this.governor.level]!;
  }

  setFrame(frame: Frame): void {
    this.frame = frame;
    this.fresh = true;
  }

  /** Looks at the whole scene from one side. */
  from(view: View): void {
    this.fit(false, VIEWS[view]);
  }

  /** The corner to look from: that in front of the most walls, which are seen from inside only. */
  private corner(): Vector3 {
    const { layout } = this;
    const walls: Vector3[] = [];
    for (const collider of layout?.colliders ?? []) {
      const body = layout?.bodies[collider.body];
      if (!body || layout?.shapes[collider.shape] !== "half-space") continue;
      const normal = new Vector3(0, 0, 1).applyQuaternion(new Quaternion(...collider.rotation)).applyQuaternion(new Quaternion(...body.orientation));
      if (Math.abs(normal.z) < 0.7) walls.push(normal);
    }
    const corners = [1, -1].flatMap((x) => [1, -1].map((y) => VIEWS.corner.clone().multiply(new Vector3(x, y, 1))));
    const behind = (direction: Vector3) => walls.filter((normal) => normal.dot(direction) < -1e-6).length;
    return corners.reduce((best, next) => (behind(next) < behind(best) ? next : best));
  }

  /** Looks from a place that the scene has. */
  through(from: CameraLine): void {
    this.fit();
    this.camera.up.set(...from.up);
    this.camera.fov = from.field;
    this.camera.position.set(...from.position);
    this.controls.target.set(...from.target);
    const distance = this.camera.position.distanceTo(this.controls.target);
    this.controls.minDistance = Math.min(this.controls.minDistance, 0.5 * distance);
    this.controls.maxDistance = Math.max(this.controls.maxDistance, 2 * distance);
    this.camera.near = Math.min(this.camera.near, 0.02 * distance);
    this.camera.updateProjectionMatrix();
    this.controls.update();
    this.stale = true;
  }

  /** Looks at the whole scene; `keep` keeps the direction. */
  fit(keep = false, side?: Vector3): void {
    if (!this.layout) return;
    const low = new Vector3(...this.layout.bounds.low);
    const high = new Vector3(...this.layout.bounds.high);
    const centre = low.clone().add(high).multiplyScalar(0.5);
    const radius = Math.max(0.5 * low.distanceTo(high), 1e-3);
    const direction = keep ? this.camera.position.clone().sub(this.controls.target).normalize() : (side ?? this.corner()).clone().normalize();
    this.camera.near = 0.02 * radius;
    this.camera.far = 80 * radius;
    // A camera of the scene may have had others.
    this.camera.up.set(0, 0, 1);
    this.camera.fov = FIELD;
    this.camera.position.copy(centre).addScaledVector(direction, radius);
    this.camera.lookAt(centre);
    this.camera.updateProjectionMatrix();
    this.camera.updateMatrixWorld(true);
    // The distance at which every corner is inside, seen from this direction.
    const tall = Math.tan((FIELD * Math.PI) / 360);
    const wide = tall * this.camera.aspect;
    const toCamera = this.camera.matrixWorldInverse.clone();
    let distance = 0;
    for (let i = 0; i < 8; i++) {
      const corner = new Vector3(i & 1 ? high.x : low.x, i & 2 ? high.y : low.y, i & 4 ? high.z : low.z).applyMatrix4(toCamera);
      const depth = corner.z + radius;
      distance = Math.max(distance, Math.abs(corner.x) / wide + depth, Math.abs(corner.y) / tall + depth);
    }
    // Lower than the middle by half of what the labels take.
    const room = Math.min(LABELS / Math.max(this.canvas.clientHeight, 1), 0.25);
    distance *= 1.1 / (1 - room);
    centre.addScaledVector(new Vector3().setFromMatrixColumn(this.camera.matrixWorld, 1), room * tall * distance);
    this.camera.position.copy(centre).addScaledVector(direction, distance);
    this.controls.target.copy(centre);
    // The bounds are those of the beginning, and so is what they are around.
    const first = this.panes[0];
    if (this.show.follow && first) {
      this.followed = { body: this.show.selected, at: first.home(this.show.selected) };
      this.fresh = true;
    }
    this.controls.minDistance = 0.05 * radius;
    this.controls.maxDistance = 25 * radius;
    this.controls.update();
    this.stale = true;
  }

  /** Turns the camera by angles, or zooms: what keys do. */
  turn(azimuth: number, polar: number, zoom: number): void {
    const offset = this.camera.position.clone().sub(this.controls.target);
    const length = offset.length() * zoom;
    const angle = Math.atan2(offset.y, offset.x) + azimuth;
    const height = Math.min(Math.max(Math.acos(offset.z / offset.length()) + polar, 0.05), 0.94 * Math.PI);
    this.camera.position.set(Math.sin(height) * Math.cos(angle), Math.sin(height) * Math.sin(angle), Math.cos(height)).multiplyScalar(length).add(this.controls.target);
    this.controls.update();
    this.stale = true;
  }

  /** Where a body is on the page, in pixels of the window; for tests and for keys. */
  place(pane: number, point: Vec3): { x: number; y: number } {
    const box = this.canvas.getBoundingClientRect();
    const at = new Vector3(...point).project(this.camera);
    const width = box.width / Math.max(this.panes.length, 1);
    return { x: box.left + width * (pane + 0.5 + 0.5 * at.x), y: box.top + box.height * (0.5 - 0.5 * at.y) };
  }

  private resize(): void {
    const { clientWidth, clientHeight } = this.canvas.parentElement!;
    if (clientWidth === 0 || clientHeight === 0) return;
    const dense = Math.min(devicePixelRatio, 2);
    const smooth = this.shapes() <= FEW ? 2 : 1;
    this.renderer.setPixelRatio(this.still ? Math.max(dense, smooth) : this.level.pixels * dense);
    this.renderer.setSize(clientWidth, clientHeight, false);
    this.camera.aspect = clientWidth / Math.max(this.panes.length, 1) / clientHeight;
    this.camera.updateProjectionMatrix();
    this.stale = true;
  }

  private tick(): void {
    if (this.busy()) return;
    const frame = this.frame;
    const fresh = this.fresh && frame !== null && frame.head.epoch === this.layout?.epoch;
    if (fresh) {
      this.fresh = false;
      const begin = performance.now();
      this.panes.forEach((pane, i) => {
        pane.setLevel(this.level, this.show.shadows);
        pane.update(frame, frame.head.panes[i] ?? null, this.show);
        if (this.press?.target) pane.reach(this.press.target);
      });
      this.follow();
      this.cost = performance.now() - begin;
      this.stale = true;
    }
    if (!this.stale) return this.rest(frame);
    this.stale = false;
    this.since = performance.now();
    if (this.still) this.refine(false);
    this.draw();
    this.drawn += 1;
    if (fresh) this.onDrawn(frame);
  }

  private shapes(): number {
    return (this.layout?.colliders.length ?? 0) * this.panes.length;
  }

  /** Nothing is new: what was drawn coarsely to keep up is drawn once in full. */
  private rest(frame: Frame | null): void {
    const coarse = this.level !== LEVELS[0] && this.governor.isAutomatic;
    if (this.still || !coarse || !frame || frame.head.playing || this.press || performance.now() - this.since < REST) return;
    this.refine(true);
    this.draw();
    this.drawn += 1;
  }

  /** From coarse to full, and back. */
  private refine(still: boolean): void {
    this.still = still;
    this.resize();
    this.stale = false;
    const level = still ? LEVELS[this.shapes() <= MANY ? 0 : 1]! : this.level;
    this.panes.forEach((pane) => {
      pane.setLevel(level, this.show.shadows);
      pane.renewShadows();
    });
  }

  /** Whether a picture is still being drawn for which the next one had better wait; how long each takes decides how finely they are drawn. */
  private busy(): boolean {
    if (!this.underWay) return false;
    const { fence, since, still } = this.underWay;
    const gl = this.renderer.getContext() as WebGL2RenderingContext;
    const now = performance.now();
    const lost = gl.isContextLost() || LOST < now - since;
    if (!lost && gl.getSyncParameter(fence, gl.SYNC_STATUS) !== gl.SIGNALED) return this.software || PATIENCE < now - since;
    gl.deleteSync(fence);
    this.underWay = null;
    if (lost || document.hidden || still) return false;
    this.measured(now - since);
    return false;
  }

  /** A picture took so long. */
  measured(milliseconds: number): void {
    this.took = milliseconds;
    if (this.governor.took(milliseconds, performance.now())) this.relevel();
  }

  /** Draws as finely as is now chosen. */
  private relevel(): void {
    this.still = false;
    this.resize();
    this.fresh = true;
    this.onLevel(this.level);
  }

  /** Moves the camera along with what it follows, so that it keeps its place on the screen. */
  private follow(): void {
    const first = this.panes[0];
    const last = this.followed;
    this.followed = null;
    if (!this.show.follow || !first) return;
    const body = this.show.selected;
    const at = first.middle(body);
    this.panes.forEach((pane) => pane.shine(at));
    this.followed = { body, at };
    // The hand pulls at a body, not at the picture.
    if (!last || last.body !== body || this.press?.held) return;
    const moved = at.clone().sub(last.at);
    this.camera.position.add(moved);
    this.controls.target.add(moved);
    this.controls.update();
  }

  private draw(): void {
    const size = this.renderer.getSize(new Vector2());
    const count = Math.max(this.panes.length, 1);
    const width = size.x / count;
    this.renderer.setScissorTest(true);
    this.panes.forEach((pane, i) => this.drawPane(pane.scene, i * width, width - (i + 1 < count ? 1 : 0), size.y));
    if (this.underWay) return;
    const gl = this.renderer.getContext() as WebGL2RenderingContext;
    const fence = gl.fenceSync(gl.SYNC_GPU_COMMANDS_COMPLETE, 0);
    gl.flush();
    if (fence) this.underWay = { fence, since: performance.now(), still: this.still };
  }

  private drawPane(scene: Scene, left: number, width: number, height: number): void {
    this.renderer.setViewport(left, 0, width, height);
    this.renderer.setScissor(left, 0, width, height);
    this.renderer.clear();
    this.renderer.render(scene, this.camera);
  }

  private ray(event: PointerEvent): { ray: Raycaster; pane: number } {
    const box = this.canvas.getBoundingClientRect();
    const count = Math.max(this.panes.length, 1);
    const width = box.width / count;
    const pane = this.press?.pane ?? Math.min(Math.floor((event.clientX - box.left) / width), count - 1);
    const x = (2 * (event.clientX - box.left - pane * width)) / width - 1;
    const y = 1 - (2 * (event.clientY - box.top)) / box.height;
    const ray = new Raycaster();
    ray.setFromCamera(new Vector2(x, y), this.camera);
    return { ray, pane };
  }

  private listen(): void {
    // Before the camera's own listeners, so that a body under the mouse is taken and not the view.
    this.canvas.addEventListener("pointerdown", (event) => this.pressed(event), { capture: true });
    this.canvas.addEventListener("pointermove", (event) => this.moved(event), { capture: true });
    const up = (event: PointerEvent) => this.lifted(event);
    this.canvas.addEventListener("pointerup", up, { capture: true });
    this.canvas.addEventListener("pointercancel", up, { capture: true });
  }

  private pressed(event: PointerEvent): void {
    this.canvas.focus({ preventScroll: true });
    if (event.button !== 0 || event.shiftKey || event.ctrlKey) return;
    const { ray, pane } = this.ray(event);
    const hit = this.panes[pane]?.pick(ray);
    if (!hit) return;
    const point = new Vector3(...hit.point);
    const plane = new Plane().setFromNormalAndCoplanarPoint(this.camera.getWorldDirection(new Vector3()), point);
    this.press = { x: event.clientX, y: event.clientY, pane, body: hit.body, point, plane, held: false, target: null };
    this.controls.enabled = false;
    this.canvas.setPointerCapture(event.pointerId);
    this.hands.pick(hit.body);
  }

  private moved(event: PointerEvent): void {
    const press = this.press;
    if (!press) return;
    if (!press.held) {
      if (Math.hypot(event.clientX - press.x, event.clientY - press.y) < STIR) return;
      const motion = this.layout?.bodies[press.body]?.motion;
      if (this.layout?.recording || (motion !== "dynamic" && motion !== "link")) return;
      press.held = true;
      this.hands.grab(press.pane, press.body, press.point.toArray());
    }
    const target = this.ray(event).ray.ray.intersectPlane(press.plane, new Vector3());
    if (!target) return;
    press.target = target.toArray();
    this.hands.drag(press.target);
    this.panes.forEach((pane) => pane.reach(press.target));
    this.stale = true;
  }

  private lifted(event: PointerEvent): void {
    if (!this.press) return;
    if (this.press.held) this.hands.release();
    this.press = null;
    this.controls.enabled = true;
    if (this.canvas.hasPointerCapture(event.pointerId)) this.canvas.releasePointerCapture(event.pointerId);
  }
}
