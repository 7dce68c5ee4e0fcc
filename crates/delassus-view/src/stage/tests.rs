use super::*;
use crate::files::File;
use serde_json::Value;

/// A scene that begins from a state, at its own step or another.
fn begin(name: &str, state: Option<String>, dt: Option<f64>) -> Result<Live, Refused> {
    let start = Start {
        state,
        dt,
        ..Start::default()
    };
    Live::new(name, None, &start)
}

/// The file with the state of a scene after three steps of 0.02 s.
fn saved(name: &str) -> Value {
    let mut live = begin(name, None, Some(0.02)).unwrap();
    (0..3).for_each(|_| live.advance().unwrap());
    let file: Value = serde_json::from_str(&File::of_state(&live, 0).json()).unwrap();
    serde_json::from_str(file["text"].as_str().unwrap()).unwrap()
}

#[test]
fn a_state_is_taken_up_with_its_step_unless_another_is_asked_for() {
    let state = saved("stack:2").to_string();
    let live = begin("stack:2", Some(state.clone()), None).unwrap();
    assert_eq!((live.step, live.parameters.dt), (3, 0.02));
    let live = begin("stack:2", Some(state), Some(0.005)).unwrap();
    assert_eq!((live.step, live.parameters.dt), (3, 0.005));
}

#[test]
fn a_state_of_another_scene_is_refused_by_name() {
    let mut state = saved("stack");
    let size = scenes::exhibits()
        .iter()
        .find(|known| known.name == "stack");
    let same = format!("stack:{}", size.unwrap().size);
    assert!(begin(&same, Some(state.to_string()), None).is_ok());
    state["scene"] = "arch".into();
    let error = begin("stack", Some(state.to_string()), None).err().unwrap();
    let text = error.to_string();
    assert!(text.contains("arch") && text.contains("stack"), "{text}");
}

#[test]
fn a_state_with_parameters_out_of_range_is_refused() {
    for (key, value) in [("dt", 0.0), ("dt", -1.0), ("friction", -1.0)] {
        let mut state = saved("stack:2");
        state["parameters"][key] = value.into();
        let error = begin("stack:2", Some(state.to_string()), Some(0.01));
        let text = error.err().unwrap().to_string();
        assert!(text.contains(key), "{text}");
    }
    let mut state = saved("stack:2");
    state["parameters"]["substeps"] = 0.into();
    assert!(begin("stack:2", Some(state.to_string()), None).is_err());
}
