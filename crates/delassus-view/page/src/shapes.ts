/** Shapes of the scene as geometries; equal kinds share one geometry and differ in scale. */

import {
  BoxGeometry, BufferGeometry, CapsuleGeometry, CylinderGeometry, Float32BufferAttribute, IcosahedronGeometry, SphereGeometry, Vector3,
} from "three";
import { mergeVertices } from "three/examples/jsm/utils/BufferGeometryUtils.js";
import { ConvexGeometry } from "three/examples/jsm/geometries/ConvexGeometry.js";
import type { Shape } from "./protocol";

export interface Form { key: string; scale: Vector3; make: () => BufferGeometry }

/** Shapes beyond which round ones are drawn coarser, and beyond which a ball is eighty triangles: each of ten thousand is a few pixels. */
const MANY = 1500;
export const CROWD = 4000;

/** How to draw a shape; none for ground without end. `count` bodies decide how fine round ones are. */
export function form(shape: Shape, index: number, count: number): Form | null {
  if (shape === "half-space") return null;
  const round = count < MANY ? 1 : 0.5;
  const own = (make: () => BufferGeometry): Form => ({ key: `shape ${index}`, scale: new Vector3(1, 1, 1), make });
  if ("sphere" in shape) {
    const r = shape.sphere.radius;
    return { key: "sphere", scale: new Vector3(r, r, r), make: () => (count < CROWD ? new SphereGeometry(1, 28 * round, 18 * round) : smallBall()) };
  }
  if ("box" in shape) {
    return { key: "box", scale: new Vector3(...shape.box.half), make: () => new BoxGeometry(2, 2, 2) };
  }
  if ("cylinder" in shape) {
    const { radius, half_length } = shape.cylinder;
    const make = () => new CylinderGeometry(1, 1, 2, 40 * round).rotateX(Math.PI / 2);
    return { key: "cylinder", scale: new Vector3(radius, radius, half_length), make };
  }
  if ("capsule" in shape) {
    const { radius, half_length } = shape.capsule;
    return own(() => new CapsuleGeometry(radius, 2 * half_length, 8 * round, 20 * round).rotateX(Math.PI / 2));
  }
  if ("hull" in shape) {
    return own(() => new ConvexGeometry(shape.hull.points.map((p) => new Vector3(...p))));
  }
  if ("mesh" in shape) {
    return own(() => surface(shape.mesh.vertices.flat(), shape.mesh.triangles.flat()));
  }
  return own(() => ground(shape["height-field"]));
}

/** Eighty triangles on 42 points, which they share. */
function smallBall(): BufferGeometry {
  const geometry = new IcosahedronGeometry(1, 1);
  geometry.deleteAttribute("uv");
  return mergeVertices(geometry);
}

function surface(vertices: number[], triangles: number[]): BufferGeometry {
  const geometry = new BufferGeometry();
  geometry.setAttribute("position", new Float32BufferAttribute(vertices, 3));
  geometry.setIndex(triangles);
  const flat = geometry.toNonIndexed();
  flat.computeVertexNormals();
  return flat;
}

function ground(field: { rows: number; columns: number; heights: number[]; size: [number, number, number] }): BufferGeometry {
  const { rows, columns, heights, size } = field;
  const vertices: number[] = [];
  const triangles: number[] = [];
  for (let i = 0; i < rows; i++) {
    for (let j = 0; j < columns; j++) {
      vertices.push((j / (columns - 1) - 0.5) * size[0], (i / (rows - 1) - 0.5) * size[1], (heights[i * columns + j] ?? 0) * size[2]);
      if (i + 1 < rows && j + 1 < columns) {
        const at = i * columns + j;
        triangles.push(at, at + 1, at + columns, at + 1, at + columns + 1, at + columns);
      }
    }
  }
  return surface(vertices, triangles);
}
