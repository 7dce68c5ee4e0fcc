//! A page without a browser: connects, sends messages, reads events and frames.

#![allow(dead_code)] // Each test file uses its own part of this.

use std::net::TcpStream;
use std::time::{Duration, Instant};

use delassus_view::{Options, Server, Show, Start};
use serde_json::{Value, json};
use tungstenite::{Message, WebSocket, client::IntoClientRequest};

pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) fn serve(name: &str, start: Start) -> Server {
    let show = Show::Live {
        name: name.to_owned(),
        loader: None,
        start,
    };
    Server::start(show, &Options::default()).unwrap()
}

pub(crate) fn paused() -> Start {
    Start {
        paused: true,
        ..Start::default()
    }
}

pub(crate) type Page = WebSocket<TcpStream>;

/// A page's connection, as a browser with this origin would open it.
pub(crate) fn connect(
    server: &Server,
    origin: Option<&str>,
) -> Result<Page, Box<tungstenite::Error>> {
    let address = server.address();
    let stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let mut request = format!("ws://{address}/live")
        .into_client_request()
        .unwrap();
    if let Some(origin) = origin {
        request
            .headers_mut()
            .insert("Origin", origin.parse().unwrap());
    }
    match tungstenite::client(request, stream) {
        Ok((page, _)) => Ok(page),
        Err(tungstenite::HandshakeError::Failure(error)) => Err(Box::new(error)),
        Err(error) => panic!("{error}"),
    }
}

pub(crate) fn open(server: &Server) -> Page {
    connect(server, Some(&format!("http://{}", server.address()))).unwrap()
}

pub(crate) fn send(page: &mut Page, message: &Value) {
    page.send(Message::text(message.to_string())).unwrap();
}

/// The head of a frame and its numbers.
pub(crate) fn decode(bytes: &[u8]) -> (Value, Vec<f32>) {
    let length = u32::from_le_bytes(bytes[..4].try_into().unwrap()) as usize;
    let head = serde_json::from_slice(&bytes[4..4 + length]).unwrap();
    let numbers = bytes[4 + length..].chunks_exact(4);
    let numbers = numbers.map(|chunk| f32::from_le_bytes(chunk.try_into().unwrap()));
    (head, numbers.collect())
}

pub(crate) fn acknowledge(page: &mut Page, head: &Value) {
    send(page, &json!({"type": "ack", "frame": head["frame"]}));
}

/// Reads on until an event of a kind for which something holds.
pub(crate) fn event(page: &mut Page, kind: &str, holds: impl Fn(&Value) -> bool) -> Value {
    let begin = Instant::now();
    while begin.elapsed() < PATIENCE {
        match page.read().unwrap() {
            Message::Text(text) => {
                let value: Value = serde_json::from_str(&text).unwrap();
                if value["type"] == kind && holds(&value) {
                    return value;
                }
            }
            Message::Binary(bytes) => acknowledge(page, &decode(&bytes).0),
            _ => {}
        }
    }
    panic!("no {kind} came");
}

/// Reads on until a frame for which something holds; every frame is acknowledged.
pub(crate) fn frame(page: &mut Page, holds: impl Fn(&Value) -> bool) -> (Value, Vec<f32>) {
    let begin = Instant::now();
    while begin.elapsed() < PATIENCE {
        if let Message::Binary(bytes) = page.read().unwrap() {
            let (head, numbers) = decode(&bytes);
            acknowledge(page, &head);
            if holds(&head) {
                return (head, numbers);
            }
        }
    }
    panic!("no such frame came");
}

/// Reads on until a frame for whose head and numbers something holds.
pub(crate) fn frame_of(page: &mut Page, holds: impl Fn(&Value, &[f32]) -> bool) {
    loop {
        let (head, numbers) = frame(page, |_| true);
        if holds(&head, &numbers) {
            return;
        }
    }
}
