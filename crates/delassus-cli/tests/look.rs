//! Colours, cameras and meshes of a scene file, and the schema that editors read.

#![allow(clippy::unwrap_used)] // A test may stop anywhere.

mod common;

use std::fs;

use common::{delassus, folder, write};
use serde_json::Value;

/// A painted mesh as ground, a painted hull on it, and a camera.
const SCENE: &str = r##"
[[bodies]]
name = "table"
motion = "static"
colour = "#ffffff"
[[bodies.shapes]]
mesh = { file = "tetrahedron.obj", scale = 10 }

[[bodies]]
name = "rock"
position = [0, 0, 20]
density = 10
colour = [1, 0, 0]
[[bodies.shapes]]
hull = { file = "tetrahedron.obj" }

[[cameras]]
name = "front"
position = [0, -30, 5]
target = [0, 0, 5]
field-degrees = 60
"##;

const TETRAHEDRON: &str =
    "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n";

#[test]
fn an_animation_has_the_colours_cameras_and_meshes_of_its_scene() {
    let out = folder("look-glb");
    let scene = write(&out, "scene.toml", SCENE);
    write(&out, "tetrahedron.obj", TETRAHEDRON);
    let file = out.join("scene.glb");
    let ran = delassus(&["run", &scene, "-n", "3", "-q", "-e", file.to_str().unwrap()]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let read = gltf::Gltf::from_slice(&fs::read(&file).unwrap()).unwrap();
    let node = |name: &str| read.nodes().find(|node| node.name() == Some(name)).unwrap();
    let mesh = |name: &str| node(name).children().next().unwrap().mesh().unwrap();
    let colour = |name: &str| {
        let primitive = mesh(name).primitives().next().unwrap();
        primitive
            .material()
            .pbr_metallic_roughness()
            .base_color_factor()
    };
    assert_eq!(colour("table"), [1.0; 4]);
    assert_eq!(colour("rock"), [1.0, 0.0, 0.0, 1.0]);
    let bounds = mesh("table").primitives().next().unwrap().bounding_box();
    assert_eq!((bounds.min, bounds.max), ([0.0; 3], [10.0; 3]));
    let camera = node("front").camera().unwrap();
    let gltf::camera::Projection::Perspective(lens) = camera.projection() else {
        panic!("a perspective");
    };
    assert!((lens.yfov() - 60_f32.to_radians()).abs() < 1e-6);
    // It looks along −z of its own axes: along +y of the scene.
    let (place, turn, _) = node("front").transform().decomposed();
    assert_eq!(place, [0.0, -30.0, 5.0]);
    let turn = glam::Quat::from_array(turn);
    assert!((turn * -glam::Vec3::Z - glam::Vec3::Y).length() < 1e-6);
    assert!((turn * glam::Vec3::Y - glam::Vec3::Z).length() < 1e-6);
}

#[test]
fn the_schema_of_scene_files_is_printed() {
    let ran = delassus(&["schema", "scene"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let schema: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(schema["title"], "delassus scene");
    assert!(schema["properties"]["bodies"].is_object());
    assert_eq!(delassus(&["schema", "soup"]).code, 2);
}
