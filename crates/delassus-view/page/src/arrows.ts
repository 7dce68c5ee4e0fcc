/** Contact points and force arrows, drawn over everything. */

import {
  Color, ConeGeometry, CylinderGeometry, Group, InstancedMesh, Matrix4, MeshBasicMaterial, OctahedronGeometry, Quaternion, SphereGeometry, Vector3,
} from "three";

const CONTACT = new Color("#e5484d");
const JOINT = new Color("#8e5cd9");
const UP = new Vector3(0, 0, 1);
/** Numbers per arrow: point, force, kind, two bodies. */
const STRIDE = 9;
/** Forces below this part of the largest are not drawn. */
const LEAST = 0.004;
/** Arrows beyond which each is drawn with few triangles. */
const MANY = 2048;

// Used again for every arrow: there may be ten thousands.
const start = new Vector3();
const direction = new Vector3();
const scale = new Vector3();
const turn = new Quaternion();
const matrix = new Matrix4();

export class Arrows {
  readonly group = new Group();
  /** How many are drawn. */
  drawn = 0;
  /** Force of the longest arrow [N]. */
  reference = 0;
  private capacity = 0;
  private shafts!: InstancedMesh;
  private heads!: InstancedMesh;
  private points!: InstancedMesh;
  private readonly material = new MeshBasicMaterial({ depthTest: false, transparent: true, opacity: 0.92 });

  /** `size` is that of the scene [m]. */
  constructor(private readonly size: number) {
    this.reserve(256);
  }

  private reserve(capacity: number): void {
    this.dispose();
    this.capacity = capacity;
    const fine = capacity <= MANY;
    const shaft = new CylinderGeometry(1, 1, 1, fine ? 8 : 4, 1, true).rotateX(Math.PI / 2).translate(0, 0, 0.5);
    const head = new ConeGeometry(1, 1, fine ? 14 : 5, 1, !fine).rotateX(Math.PI / 2).translate(0, 0, 0.5);
    this.shafts = new InstancedMesh(shaft, this.material, capacity);
    this.heads = new InstancedMesh(head, this.material, capacity);
    this.points = new InstancedMesh(fine ? new SphereGeometry(1, 10, 8) : new OctahedronGeometry(1), this.material, capacity);
    for (const mesh of [this.shafts, this.heads, this.points]) {
      mesh.frustumCulled = false;
      mesh.renderOrder = 10;
      mesh.count = 0;
      mesh.setColorAt(0, CONTACT);
      this.group.add(mesh);
    }
  }

  /** Draws the arrows of what is seen; `unseen` says whether a body is not, or does not count since it never moves. */
  update(data: Float32Array, unseen: (body: number) => boolean): void {
    const count = data.length / STRIDE;
    if (this.capacity < count) this.reserve(2 ** Math.ceil(Math.log2(count)));
    let largest = 0;
    for (let i = 0; i < count; i++) largest = Math.max(largest, strength(data, i));
    // The scale follows slowly, so that arrows can be compared from one frame to the next.
    this.reference = largest <= 0 ? this.reference : Math.max(largest, 0.97 * this.reference);
    const thick = 0.004 * this.size * Math.min(1, Math.sqrt(60 / Math.max(count, 1)) + 0.25);
    const longest = 0.22 * this.size;
    let n = 0;
    for (let i = 0; i < count; i++) {
      const force = strength(data, i);
      if (force < LEAST * this.reference) continue;
      if (unseen(data[STRIDE * i + 7]!) && unseen(data[STRIDE * i + 8]!)) continue;
      start.fromArray(data, STRIDE * i);
      direction.fromArray(data, STRIDE * i + 3).divideScalar(force);
      turn.setFromUnitVectors(UP, direction);
      const length = (longest * force) / this.reference;
      const head = Math.min(6 * thick, 0.6 * length);
      this.shafts.setMatrixAt(n, matrix.compose(start, turn, scale.set(thick, thick, Math.max(length - head, 1e-9))));
      this.points.setMatrixAt(n, matrix.compose(start, turn, scale.setScalar(1.6 * thick)));
      const tip = start.addScaledVector(direction, length - head);
      this.heads.setMatrixAt(n, matrix.compose(tip, turn, scale.set(0.42 * head, 0.42 * head, head)));
      const colour = data[STRIDE * i + 6] === 0 ? CONTACT : JOINT;
      this.shafts.setColorAt(n, colour);
      this.heads.setColorAt(n, colour);
      this.points.setColorAt(n, colour);
      n++;
    }
    this.drawn = n;
    for (const mesh of [this.shafts, this.heads, this.points]) {
      mesh.count = n;
      mesh.instanceMatrix.needsUpdate = true;
      if (mesh.instanceColor) mesh.instanceColor.needsUpdate = true;
    }
  }

  dispose(): void {
    for (const mesh of [...this.group.children] as InstancedMesh[]) {
      this.group.remove(mesh);
      mesh.geometry.dispose();
      mesh.dispose();
    }
  }
}

function strength(data: Float32Array, i: number): number {
  const at = STRIDE * i + 3;
  return Math.hypot(data[at]!, data[at + 1]!, data[at + 2]!);
}
