//! How fast frames come: serves a scene, reads it as a page does that draws at once, then as one that hangs, and says what it saw.
//!
//! `cargo run --release -p delassus-view --example stream -- pile:10000 10` (scene, seconds)

#![allow(clippy::print_stdout)]

use std::error::Error;
use std::net::TcpStream;
use std::time::{Duration, Instant};

use delassus_view::{Options, Server, Show, Start};
use serde_json::Value;
use tungstenite::{Message, WebSocket, client::IntoClientRequest};

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
    let mut seen = Seen::default();
    let begin = Instant::now();
    while begin.elapsed() < Duration::from_secs(seconds) {
        next(&mut page, &mut seen)?;
    }
    let elapsed = begin.elapsed().as_secs_f64();
    println!("scene            {name}");
    println!("contacts         {}", seen.contacts);
    println!(
        "frames           {:.1} per second",
        f64::from(seen.frames) / elapsed
    );
    println!("frame            {:.1} kB", seen.bytes as f64 / 1e3);
    let steps = (seen.last - seen.first) as f64;
    let step = 1e3 * seen.clocks / f64::from(seen.frames.max(1));
    println!("steps            {:.1} per second", steps / elapsed);
    println!("step             {step:.1} ms");
    println!(
        "all the rest     {:.1} ms a step: numbers, encoding, waiting for the time",
        1e3 * elapsed / steps.max(1.0) - step
    );
    // A page that hangs: it reads nothing and answers nothing.
    let before = seen.last;
    let begin = Instant::now();
    std::thread::sleep(Duration::from_secs(seconds));
    // Two frames were under way; the one after them is new.
    for _ in 0..3 {
        next(&mut page, &mut seen)?;
    }
    let elapsed = begin.elapsed().as_secs_f64();
    let stepping: f64 = seen
        .samples
        .iter()
        .filter(|(step, _)| before < *step)
        .map(|(_, ms)| 1e-3 * ms)
        .sum();
    println!(
        "nobody reading   {:.1} steps per second, {:.0} % of the time spent in steps",
        (seen.last - before) as f64 / elapsed,
        100.0 * stepping / elapsed
    );
    Ok(())
}

/// What a page has seen.
#[derive(Default)]
struct Seen {
    frames: u32,
    bytes: usize,
    first: u64,
    last: u64,
    contacts: u64,
    /// Sum of the times of the steps shown \[s\].
    clocks: f64,
    /// Numbers of the last steps and how long each took \[ms\].
    samples: Vec<(u64, f64)>,
}

/// Reads and answers the next frame.
fn next(page: &mut WebSocket<TcpStream>, seen: &mut Seen) -> Result<(), Box<dyn Error>> {
    let frame = loop {
        if let Message::Binary(frame) = page.read()? {
            break frame;
        }
    };
    let length = u32::from_le_bytes(frame[..4].try_into()?) as usize;
    let head: Value = serde_json::from_slice(&frame[4..4 + length])?;
    let ack = format!(r#"{{"type":"ack","frame":{}}}"#, head["frame"]);
    page.send(Message::text(ack))?;
    let numbers = &head["panes"][0]["numbers"];
    seen.last = head["step"].as_u64().unwrap_or(0);
    if seen.frames == 0 {
        seen.first = seen.last;
    }
    seen.frames += 1;
    seen.bytes = frame.len();
    seen.contacts = numbers["contacts"].as_u64().unwrap_or(0);
    let clock = numbers["clock"].as_object().into_iter().flatten();
    let samples = head["panes"][0]["samples"].as_array().into_iter().flatten();
    seen.samples = samples
        .filter_map(|sample| Some((sample["step"].as_u64()?, sample["ms"].as_f64()?)))
        .collect();
    seen.clocks += clock.filter_map(|(_, x)| x.as_f64()).sum::<f64>();
    Ok(())
}
