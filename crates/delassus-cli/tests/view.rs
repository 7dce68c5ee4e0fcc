//! `delassus view`: refused with a reason where there is nothing to show, and served where there is.

#![allow(clippy::unwrap_used)] // A test may stop anywhere.

use std::process::{Command, Output};

fn view(words: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_delassus"));
    command.arg("view").args(words).output().unwrap()
}

fn complaint(output: &Output) -> String {
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[cfg(not(feature = "view"))]
#[test]
fn a_program_without_the_page_says_how_to_get_one() {
    let text = complaint(&view(&["stack"]));
    assert!(
        text.contains("build-page") && text.contains("--features view"),
        "{text}"
    );
}

#[test]
fn odd_options_are_refused() {
    for words in [
        &["stack", "--host", "everywhere"][..],
        &["stack", "--port", "99999"],
        &["stack", "--dt", "0"],
        &["stack", "--threads", "0"],
        &[],
    ] {
        complaint(&view(words));
    }
}

#[cfg(feature = "view")]
mod served {
    use super::*;
    use std::io::{BufRead, BufReader, Read, Write};
    use std::net::TcpStream;
    use std::process::Stdio;

    #[test]
    fn what_cannot_be_shown_is_refused_in_words() {
        if !delassus_view::page_is_built() {
            eprintln!("skipped: the page is not built");
            return;
        }
        let folder = std::env::temp_dir().join(format!("delassus-cli-view-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let bad = folder.join("bad.toml");
        std::fs::write(&bad, "title = \"x\"\nsolvr = 1\n").unwrap();
        for (what, words) in [
            ("stack:0", "not a size"),
            ("no-such-scene", "no built-in scene"),
            (bad.to_str().unwrap(), "2:1: the scene has no key"),
            (folder.to_str().unwrap(), "scene.json"),
        ] {
            let text = complaint(&view(&[what, "--no-open"]));
            assert!(text.contains(words), "{what}: {text}");
        }
        let words = [folder.to_str().unwrap(), "--no-open", "--state", "x.json"];
        let text = complaint(&view(&words));
        assert!(text.contains("--state x.json: a recording"), "{text}");
        let text = complaint(&view(&["stack", "--no-open", "--solver", "gauss"]));
        assert!(text.contains("no solver"), "{text}");
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn a_scene_is_served_on_loopback() {
        if !delassus_view::page_is_built() {
            eprintln!("skipped: the page is not built");
            return;
        }
        let mut program = Command::new(env!("CARGO_BIN_EXE_delassus"))
            .args(["view", "stack:2", "--no-open", "--port", "0", "--paused"])
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut notes = BufReader::new(program.stderr.take().unwrap()).lines();
        let note = notes.next().unwrap().unwrap();
        let address = note.split("http://").nth(1).unwrap().trim_end_matches('/');
        assert!(address.starts_with("127.0.0.1:"), "{note}");
        let mut stream = TcpStream::connect(address).unwrap();
        let request = format!("GET / HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        program.kill().unwrap();
        program.wait().unwrap();
        assert!(
            answer.starts_with("HTTP/1.1 200") && answer.contains("<title>delassus</title>"),
            "{answer}"
        );
    }
}
