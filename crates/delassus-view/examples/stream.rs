//! How fast frames come: serves a scene, reads it as a page does that draws at once, and says what it saw.
//!
//! `cargo run --release -p delassus-view --example stream -- pile:10000 10` (scene, seconds)

#![allow(clippy::print_stdout)]

use std::error::Error;
use std::net::TcpStream;
use std::time::{Duration, Instant};

use delassus_view::{Options, Server, Show, Start};
use serde_json::Value;
use tungstenite::{Message, client::IntoClientRequest};

fn main() -> Result<(), Box<dyn Error>> {
    let mut words = std::env::args().skip(1);
    let name = words.next().unwrap_or_else(|| "pile:10000".to_owned());
    let seconds: u64 = words.next().map_or(Ok(10), |word| word.parse())?;
    let show = Show::Live {
        name: name.clone(),
        loader: None,
        start: Start::default(),
    };
    let options = Options {
        threads: std::thread::available_parallelism()?.get(),
        ..Options::default()
    };
    let server = Server::start(show, &options)?;
    let address = server.address();
    let mut request = format!("ws://{address}/live").into_client_request()?;
    let origin = format!("http://{address}").parse()?;
    request.headers_mut().insert("Origin", origin);
    let (mut page, _) = tungstenite::client(request, TcpStream::connect(address)?)
        .map_err(|error| error.to_string())?;
    let display = r#"{"type":"display","contacts":false,"colour":"body","history":false}"#;
    page.send(Message::text(display))?;
    let (mut frames, mut bytes) = (0u32, 0);
    let mut ends: Option<(Value, Value)> = None;
    let begin = Instant::now();
    while begin.elapsed() < Duration::from_secs(seconds) {
        let Message::Binary(frame) = page.read()? else {
            continue;
        };
        let length = u32::from_le_bytes(frame[..4].try_into()?) as usize;
        let head: Value = serde_json::from_slice(&frame[4..4 + length])?;
        page.send(Message::text(format!(
            r#"{{"type":"ack","frame":{}}}"#,
            head["frame"]
        )))?;
        (frames, bytes) = (frames + 1, frame.len());
        ends = Some(match ends {
            None => (head.clone(), head),
            Some((first, _)) => (first, head),
        });
    }
    let elapsed = begin.elapsed().as_secs_f64();
    let (first, last) = ends.ok_or("no frame came")?;
    let count = |head: &Value| head["step"].as_f64().unwrap_or(0.0);
    println!("scene            {name}");
    println!(
        "frames           {:.1} per second",
        f64::from(frames) / elapsed
    );
    println!("frame            {:.1} kB", bytes as f64 / 1e3);
    println!(
        "steps            {:.1} per second",
        (count(&last) - count(&first)) / elapsed
    );
    println!(
        "contacts         {}",
        last["panes"][0]["numbers"]["contacts"]
    );
    Ok(())
}
