//! The server as a stranger meets it: foreign hosts and origins, floods, large and malformed messages, paths.

#![allow(clippy::unwrap_used)]

mod client;

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use client::{PATIENCE, Page, connect, decode, event, frame, open, paused, send, serve};
use delassus::scenes;
use delassus_view::{Options, Recording, Server, Show, Start};
use serde_json::{Value, json};
use tungstenite::Message;

/// The answer to a plain request with these headers.
fn ask(server: &Server, request: &str) -> String {
    let mut stream = TcpStream::connect(server.address()).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    String::from_utf8_lossy(&answer).into_owned()
}

fn get(server: &Server, path: &str, host: &str) -> String {
    ask(
        server,
        &format!("GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n"),
    )
}

/// Frames are counted.
fn number(head: &Value) -> u64 {
    head["frame"].as_u64().unwrap()
}

#[test]
fn foreign_hosts_and_origins_are_refused() {
    let server = serve("stack:1", paused());
    let port = server.address().port();
    for host in ["evil.example", "127.0.0.1", "10.0.0.1"] {
        let answer = get(
            &server,
            "/",
            &format!("{host}:{}", port ^ u16::from(host == "127.0.0.1")),
        );
        assert!(answer.starts_with("HTTP/1.1 403"), "{host}: {answer}");
    }
    for origin in [
        None,
        Some("null".to_owned()),
        Some("http://evil.example".to_owned()),
        Some(format!("http://localhost:{port}")),
        Some(format!("https://127.0.0.1:{port}")),
    ] {
        let refused = connect(&server, origin.as_deref());
        assert!(refused.is_err(), "{origin:?}");
    }
    assert!(server.address().ip().is_loopback());
    open(&server);
}

#[test]
fn every_answer_forbids_what_is_not_of_this_server() {
    let server = serve("stack:1", paused());
    let host = server.address().to_string();
    for path in ["/", "/no-such-file", "/live"] {
        let answer = get(&server, path, &host).to_lowercase();
        assert!(
            answer.contains("content-security-policy: default-src 'self'"),
            "{answer}"
        );
        assert!(answer.contains("x-content-type-options: nosniff"));
        assert!(!answer.contains("access-control-allow-origin"));
    }
}

#[test]
fn no_path_of_the_file_system_is_served() {
    let server = serve("stack:1", paused());
    let host = server.address().to_string();
    for path in [
        "/../Cargo.toml",
        "/..%2fCargo.toml",
        "/%2e%2e/%2e%2e/Cargo.toml",
        "//etc/hostname",
        "/etc/hostname",
        "/assets/../../../Cargo.toml",
        "/file:///etc/hostname",
    ] {
        let answer = get(&server, path, &host);
        let refused = ["404", "400", "503"]
            .iter()
            .any(|code| answer.starts_with(&format!("HTTP/1.1 {code}")));
        assert!(refused, "{path}: {answer}");
    }
    let mut page = open(&server);
    for name in ["/etc/hostname", "../stack", "Cargo.toml", "file:Cargo.toml"] {
        send(&mut page, &json!({"type": "scene", "name": name}));
        let notice = event(&mut page, "notice", |_| true);
        let text = notice["text"].as_str().unwrap();
        assert!(text.contains("no built-in scene"), "{text}");
    }
    let post = format!(
        "POST / HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"
    );
    assert!(ask(&server, &post).starts_with("HTTP/1.1 405"));
}

#[test]
fn bad_messages_are_answered_in_words_and_change_nothing() {
    let server = serve("stack:2", paused());
    let mut page = open(&server);
    for (message, words) in [
        (
            json!({"type": "speed", "factor": 1e9}),
            "factor is 1000000000",
        ),
        (
            json!({"type": "play", "on": true, "file": "x"}),
            "unknown field",
        ),
        (json!({"type": "quit"}), "unknown variant"),
        (json!({"type": "scene", "name": "stack:0"}), "not a size"),
        (
            json!({"type": "scene", "name": "pile:1000000"}),
            "at most 20000",
        ),
        (
            json!({"type": "solver", "pane": 0, "spec": "gauss", "tolerance": 1e-6, "iterations": 10}),
            "no solver",
        ),
        (
            json!({"type": "solver", "pane": 1, "spec": "jacobi", "tolerance": 1e-6, "iterations": 10}),
            "split first",
        ),
        (
            json!({"type": "grab", "pane": 0, "body": 0, "point": [0, 0, 0]}),
            "only bodies that forces move",
        ),
        (
            json!({"type": "grab", "pane": 0, "body": 4_000_000, "point": [0, 0, 0]}),
            "only bodies that forces move",
        ),
        (
            json!({"type": "joint", "dial": 0, "position": 0.1}),
            "no such joint",
        ),
        (json!({"type": "keyframe", "index": 0}), "no such keyframe"),
        (json!([1, 2]), "refused"),
    ] {
        send(&mut page, &message);
        let notice = event(&mut page, "notice", |_| true);
        let text = notice["text"].as_str().unwrap();
        assert!(text.contains(words), "{message}: {text}");
    }
    send(&mut page, &json!({"type": "step", "count": 1}));
    let (head, _) = frame(&mut page, |head| head["step"] == 1);
    assert_eq!(head["panes"][0]["numbers"]["solver"], "auto");
}

#[test]
fn floods_and_large_messages_end_the_connection_and_not_the_server() {
    let server = serve("stack:1", paused());
    let mut page = open(&server);
    let large = page.send(Message::text(" ".repeat(100_000)));
    let ended =
        large.is_err() || std::iter::from_fn(|| Some(page.read())).any(|read| read.is_err());
    assert!(ended);
    let mut page = open(&server);
    for _ in 0..3000 {
        if page
            .send(Message::text(r#"{"type":"ack","frame":0}"#))
            .is_err()
        {
            break;
        }
    }
    assert!(std::iter::from_fn(|| Some(page.read())).any(|read| read.is_err()));
    let mut page = open(&server);
    event(&mut page, "scene", |_| true);
}

#[test]
fn only_so_many_pages_are_let_in() {
    let server = serve("stack:1", paused());
    let pages: Vec<Page> = (0..8).map(|_| open(&server)).collect();
    let origin = format!("http://{}", server.address());
    assert!(connect(&server, Some(&origin)).is_err());
    drop(pages);
}

#[test]
fn a_page_that_draws_nothing_gets_no_more_frames() {
    let server = serve("stack:2", Start::default());
    let mut page = open(&server);
    page.get_ref()
        .set_read_timeout(Some(Duration::from_secs(2)))
        .unwrap();
    // Another page draws, until the first has missed many.
    let mut other = open(&server);
    let first = number(&frame(&mut other, |_| true).0);
    frame(&mut other, |head| first + 30 < number(head));
    let mut frames = Vec::new();
    loop {
        match page.read() {
            Ok(Message::Binary(bytes)) => frames.push(number(&decode(&bytes).0)),
            Ok(_) => {}
            Err(_) => break,
        }
    }
    assert!((1..=2).contains(&frames.len()), "{frames:?}");
    // Once it says what it has drawn it gets the newest, not those it missed.
    send(&mut page, &json!({"type": "ack", "frame": frames.last()}));
    page.get_ref().set_read_timeout(Some(PATIENCE)).unwrap();
    let (head, _) = frame(&mut page, |_| true);
    assert!(frames.last().unwrap() + 10 < number(&head));
}

#[test]
fn two_views_go_in_step_and_agree_where_both_solve() {
    let start = Start {
        solvers: vec!["gauss-seidel".to_owned(), "lemke".to_owned()],
        tolerance: Some(1e-10),
        iterations: Some(100_000),
        ..paused()
    };
    let server = serve("stack:2", start);
    let mut page = open(&server);
    send(&mut page, &json!({"type": "step", "count": 20}));
    let (head, numbers) = frame(&mut page, |head| head["step"] == 20);
    for pane in [0, 1] {
        assert_eq!(head["panes"][pane]["numbers"]["status"], "solved");
    }
    assert!(
        head["apart"][0].as_f64().unwrap() < 1e-6,
        "{}",
        head["apart"]
    );
    assert_eq!(
        head["panes"][1]["poses"],
        json!({"start": head["panes"][1]["poses"]["start"], "count": 14})
    );
    assert!(numbers.iter().all(|x| x.is_finite()));
}

#[test]
fn the_hand_pulls_and_a_page_that_leaves_lets_go() {
    let server = serve("stack:1", paused());
    let mut page = open(&server);
    let height = |head: &Value, numbers: &[f32]| {
        numbers[head["panes"][0]["poses"]["start"].as_u64().unwrap() as usize + 2]
    };
    let (head, numbers) = frame(&mut page, |_| true);
    let start = height(&head, &numbers);
    send(
        &mut page,
        &json!({"type": "grab", "pane": 0, "body": 1, "point": [0, 0, 0.5]}),
    );
    send(&mut page, &json!({"type": "drag", "target": [0, 0, 2.5]}));
    send(&mut page, &json!({"type": "step", "count": 200}));
    let (head, numbers) = frame(&mut page, |head| head["step"] == 200);
    assert!(start + 1.5 < height(&head, &numbers));
    assert!(head["panes"][0]["hand"].is_array());
    drop(page);
    let mut page = open(&server);
    frame(&mut page, |head| head["panes"][0]["hand"].is_null());
    send(&mut page, &json!({"type": "reset"}));
    let (head, numbers) = frame(&mut page, |head| head["step"] == 0);
    assert_eq!(height(&head, &numbers), start);
}

#[test]
fn a_file_is_read_again_at_reset_and_a_bad_one_is_told_in_words() {
    let mut reads = 0;
    let loader = move || {
        reads += 1;
        match reads {
            // At the start it is read twice: for its defaults, and for the solvers asked for.
            1 | 2 => scenes::build("stack:2").map_err(Into::into),
            3 => Err("3:1: the scene has no key \"bodis\"".into()),
            _ => scenes::build("stack:4").map_err(Into::into),
        }
    };
    let show = Show::Live {
        name: "tower.toml".to_owned(),
        loader: Some(Box::new(loader)),
        start: paused(),
    };
    let server = Server::start(show, &Options::default()).unwrap();
    let mut page = open(&server);
    assert_eq!(event(&mut page, "welcome", |_| true)["file"], "tower.toml");
    let bodies = |layout: &Value| layout["bodies"].as_array().unwrap().len();
    assert_eq!(bodies(&event(&mut page, "scene", |_| true)), 3);
    send(&mut page, &json!({"type": "reset"}));
    let notice = event(&mut page, "notice", |_| true);
    assert_eq!(notice["text"], "3:1: the scene has no key \"bodis\"");
    send(&mut page, &json!({"type": "step", "count": 1}));
    let (head, _) = frame(&mut page, |head| head["step"] == 1);
    assert_eq!(
        head["panes"][0]["poses"]["count"], 14,
        "the old scene is kept"
    );
    send(&mut page, &json!({"type": "reset"}));
    assert_eq!(bodies(&event(&mut page, "scene", |_| true)), 5);
}

/// Writes what a run records, for one moving body.
fn record(folder: &std::path::Path, frames: &[(f64, f64)], rest: &[u8]) {
    std::fs::create_dir_all(folder).unwrap();
    let mut bytes = b"DELASSUS".to_vec();
    bytes.extend(1u32.to_le_bytes());
    bytes.extend(1u32.to_le_bytes());
    bytes.extend(0.01f64.to_le_bytes());
    bytes.extend(10u32.to_le_bytes());
    bytes.extend(b"box-000000");
    for &(time, height) in frames {
        for number in [time, 0.0, 0.0, height, 1.0, 0.0, 0.0, 0.0] {
            bytes.extend(number.to_le_bytes());
        }
    }
    bytes.extend(rest);
    std::fs::write(folder.join("trajectory.bin"), bytes).unwrap();
}

#[test]
fn recordings_are_shown_frame_by_frame() {
    let folder = std::env::temp_dir().join(format!("delassus-tape-{}", std::process::id()));
    record(&folder, &[(0.0, 0.5), (0.1, 0.75), (0.2, 1.0)], b"cut off");
    let open_recording = || {
        let scene = scenes::build("stack:1").unwrap();
        Recording::open(&folder, "stack:1", scene)
    };
    let recording = Box::new(open_recording().unwrap());
    let server = Server::start(Show::Recording(recording), &Options::default()).unwrap();
    let mut page = open(&server);
    let layout = event(&mut page, "scene", |_| true);
    assert_eq!(layout["recording"]["frames"], 3);
    send(&mut page, &json!({"type": "seek", "frame": 1}));
    let (head, numbers) = frame(&mut page, |head| {
        head["step"] == 1 && head["playing"] == false
    });
    assert_eq!((head["time"].as_f64(), numbers[2]), (Some(0.1), 0.75));
    send(&mut page, &json!({"type": "step", "count": 9}));
    let (head, numbers) = frame(&mut page, |head| head["step"] == 2);
    assert_eq!((head["time"].as_f64(), numbers[2]), (Some(0.2), 1.0));
    send(&mut page, &json!({"type": "split", "on": true}));
    let notice = event(&mut page, "notice", |_| true);
    assert!(notice["text"].as_str().unwrap().contains("recording"));
    record(&folder, &[(0.0, f64::NAN)], b"");
    assert!(
        Server::start(
            Show::Recording(Box::new(open_recording().unwrap())),
            &Options::default()
        )
        .is_err()
    );
    record(&folder, &[], b"");
    assert!(
        open_recording()
            .unwrap_err()
            .to_string()
            .contains("no frames")
    );
    std::fs::write(folder.join("trajectory.bin"), b"DELASSUS").unwrap();
    assert!(open_recording().is_err());
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn a_large_pile_streams_whole_frames() {
    let server = serve("pile:10000", paused());
    let mut page = open(&server);
    send(
        &mut page,
        &json!({"type": "display", "contacts": true, "colour": "force", "history": false}),
    );
    send(&mut page, &json!({"type": "step", "count": 1}));
    let (head, numbers) = frame(&mut page, |head| {
        head["step"] == 1 && 0 < head["panes"][0]["colours"]["count"].as_u64().unwrap()
    });
    assert_eq!(head["panes"][0]["poses"]["count"], 70_000);
    assert_eq!(head["panes"][0]["colours"]["count"], 10_000);
    assert!(80_000 <= numbers.len());
}

/// Clients that connect and say half a word, or nothing, are hung up on, and in the meantime do not keep others out.
#[test]
fn half_open_connections_are_closed_and_lock_nobody_out() {
    let server = serve("stack:2", paused());
    let half: Vec<TcpStream> = (0..160)
        .map(|i| {
            let mut stream = TcpStream::connect(server.address()).unwrap();
            if i % 2 == 0 {
                // It may have been closed already.
                let _ = stream.write_all(b"GET / HTTP/1.1\r\nHost: ");
            }
            stream
        })
        .collect();
    // All of them are gone within the patience of the server, whatever they hold.
    for mut stream in half {
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let mut rest = Vec::new();
        let ended = stream.read_to_end(&mut rest);
        let reset = |e: &std::io::Error| e.kind() == std::io::ErrorKind::ConnectionReset;
        assert!(
            ended.as_ref().is_ok() || ended.as_ref().is_err_and(reset),
            "{ended:?}"
        );
    }
    let address = server.address().to_string();
    assert!(get(&server, "/", &address).starts_with("HTTP/1.1 "));
    open(&server);
}
