/** Many bodies as one mesh without instances. Software renderers pay for every instance as for a draw call of its own. */

import {
  BufferAttribute, BufferGeometry, DynamicDrawUsage, Matrix4, Mesh, MeshLambertMaterial, Vector3, type InstancedMesh,
} from "three";
import { mergeVertices } from "three/examples/jsm/utils/BufferGeometryUtils.js";

/** Instances beyond which other shapes than balls are worth a mesh of their own. */
const MANY = 200;

const matrix = new Matrix4();
const point = new Vector3();

/** Draws what an instanced mesh would, whose matrices and colours it follows. */
export abstract class Crowd {
  readonly mesh: Mesh;
  protected readonly positions: BufferAttribute;
  private readonly colours: BufferAttribute;

  /** `each` points per instance, joined by the triangles of `index`. */
  protected constructor(protected readonly source: InstancedMesh, protected readonly each: number, index: ArrayLike<number>, material: MeshLambertMaterial) {
    const count = source.count;
    this.positions = new BufferAttribute(new Float32Array(3 * each * count), 3).setUsage(DynamicDrawUsage);
    this.colours = new BufferAttribute(new Float32Array(3 * each * count), 3);
    const triangles = new Uint32Array(index.length * count);
    for (let i = 0; i < triangles.length; i++) triangles[i] = index[i % index.length]! + each * Math.floor(i / index.length);
    const geometry = new BufferGeometry();
    geometry.setAttribute("position", this.positions);
    geometry.setAttribute("color", this.colours);
    geometry.setIndex(new BufferAttribute(triangles, 1));
    this.mesh = new Mesh(geometry, material);
    this.mesh.frustumCulled = false;
  }

  protected abstract place(i: number, matrix: Matrix4): void;

  move(): void {
    for (let i = 0; i < this.source.count; i++) this.place(i, matrix.fromArray(this.source.instanceMatrix.array, 16 * i));
    this.positions.needsUpdate = true;
  }

  paint(): void {
    const from = this.source.instanceColor!.array;
    const to = this.colours.array;
    for (let i = 0; i < to.length; i++) to[i] = from[3 * Math.floor(i / (3 * this.each)) + (i % 3)]!;
    this.colours.needsUpdate = true;
  }
}

/** Balls as triangles around them that face the camera; the shader makes them round and lights them as balls. */
class Balls extends Crowd {
  constructor(source: InstancedMesh) {
    const material = new MeshLambertMaterial({ vertexColors: true });
    material.onBeforeCompile = (shader) => {
      shader.vertexShader = shader.vertexShader
        .replace("void main() {", `
          attribute float radius;
          varying vec2 vCorner;
          void main() {
            int corner = gl_VertexID % 3;
            vCorner = vec2(1.7320508 * float(corner - 1), corner == 1 ? 2.0 : -1.0);`)
        .replace("#include <project_vertex>", `
          vec4 mvPosition = modelViewMatrix * vec4(transformed, 1.0);
          mvPosition.xy += radius * vCorner;
          gl_Position = projectionMatrix * mvPosition;`);
      shader.fragmentShader = shader.fragmentShader
        .replace("void main() {", `
          varying vec2 vCorner;
          void main() {
            float inside = 1.0 - dot(vCorner, vCorner);
            if (inside < 0.0) discard;`)
        .replace("#include <normal_fragment_begin>", `
          vec3 normal = vec3(vCorner, sqrt(inside));
          vec3 nonPerturbedNormal = normal;`);
    };
    super(source, 3, [0, 2, 1], material);
    const radii = new Float32Array(3 * source.count);
    for (let i = 0; i < source.count; i++) {
      source.getMatrixAt(i, matrix);
      radii.fill(matrix.getMaxScaleOnAxis(), 3 * i, 3 * (i + 1));
    }
    this.mesh.geometry.setAttribute("radius", new BufferAttribute(radii, 1));
  }

  protected place(i: number, matrix: Matrix4): void {
    point.setFromMatrixPosition(matrix);
    for (let k = 0; k < 3; k++) point.toArray(this.positions.array, 3 * (3 * i + k));
  }
}

/** Other shapes with flat faces, all points put into place here. */
class Solids extends Crowd {
  private readonly shape: Float32Array;

  constructor(source: InstancedMesh) {
    const bare = new BufferGeometry();
    bare.setAttribute("position", source.geometry.getAttribute("position").clone());
    bare.setIndex(source.geometry.getIndex()?.clone() ?? null);
    const { attributes, index } = mergeVertices(bare);
    const shape = attributes.position!;
    super(source, shape.count, index!.array, new MeshLambertMaterial({ vertexColors: true, flatShading: true }));
    this.shape = Float32Array.from(shape.array);
  }

  protected place(i: number, matrix: Matrix4): void {
    for (let k = 0; k < this.each; k++) {
      point.fromArray(this.shape, 3 * k).applyMatrix4(matrix).toArray(this.positions.array, 3 * (this.each * i + k));
    }
  }
}

/** A crowd in place of an instanced mesh, where that is quicker. */
export function crowd(source: InstancedMesh, balls: boolean): Crowd | null {
  if (balls) return new Balls(source);
  return MANY < source.count ? new Solids(source) : null;
}
