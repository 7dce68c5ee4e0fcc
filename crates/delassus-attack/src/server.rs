//! The server of the live page among strangers: foreign hosts and origins, floods, slow and broken clients, messages
//! that are too long or make no sense, several at once. After each, a page that behaves is still served.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use delassus::math::Random;
use delassus_view::{Options, Server, Show, Start};
use tungstenite::client::IntoClientRequest;
use tungstenite::{Message, WebSocket};

use crate::asked::{Asked, own_seed};
use crate::files::{FileFormat, mutate};
use crate::process::peak_memory_of;
use crate::tally::Tally;

/// Longest wait for an answer; a page may have to wait until strangers that say nothing are shown out.
const PATIENCE: Duration = Duration::from_secs(20);
/// Longest wait for an answer that does not matter.
const SHORT: Duration = Duration::from_millis(200);
/// Most memory of the server \[MB\].
const MEMORY_BOUND: f64 = 512.0;
/// Scene that is served.
const SCENE: &str = "stack:3";

/// What a stranger does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stranger {
    Host,
    Origin,
    Request,
    Message,
    Long,
    Flood,
    Slow,
    Broken,
    Crowd,
}

/// All of them with their names.
const STRANGERS: [(&str, Stranger); 9] = [
    ("foreign host", Stranger::Host),
    ("foreign origin", Stranger::Origin),
    ("bad request", Stranger::Request),
    ("bad message", Stranger::Message),
    ("long message", Stranger::Long),
    ("flood", Stranger::Flood),
    ("slow clients", Stranger::Slow),
    ("broken client", Stranger::Broken),
    ("crowd", Stranger::Crowd),
];

/// Serves until it is killed; says where on standard output.
pub(crate) fn serve() -> Result<Tally, String> {
    let show = Show::Live {
        name: SCENE.to_owned(),
        loader: None,
        start: Start::default(),
    };
    let server = Server::start(show, &Options::default()).map_err(|e| e.to_string())?;
    println!("{}", server.address());
    server.wait();
    Ok(Tally::default())
}

/// A server in a process of its own, ended with this value.
struct Served {
    child: Child,
    address: SocketAddr,
}

impl Served {
    fn start() -> Result<Served, String> {
        let own = std::env::current_exe().map_err(|e| e.to_string())?;
        let mut command = Command::new(own);
        command
            .arg("serve")
            .stdin(Stdio::null())
            .stdout(Stdio::piped());
        let mut child = command.spawn().map_err(|e| e.to_string())?;
        let mut line = String::new();
        if let Some(out) = child.stdout.take() {
            let _ = BufReader::new(out).read_line(&mut line);
        }
        match line.trim().parse() {
            Ok(address) => Ok(Served { child, address }),
            Err(_) => {
                let _ = child.kill();
                let _ = child.wait();
                Err(format!("the server did not start: {line}"))
            }
        }
    }

    fn stream(&self, patience: Duration) -> std::io::Result<TcpStream> {
        let stream = TcpStream::connect_timeout(&self.address, PATIENCE)?;
        stream.set_read_timeout(Some(patience))?;
        stream.set_write_timeout(Some(patience))?;
        Ok(stream)
    }

    /// The first bytes of the answer to a request.
    fn ask(&self, request: &[u8]) -> String {
        let ask = || {
            let mut stream = self.stream(SHORT)?;
            stream.write_all(request)?;
            let mut answer = [0; 64];
            let length = stream.read(&mut answer)?;
            Ok(String::from_utf8_lossy(&answer[..length]).into_owned())
        };
        ask().unwrap_or_else(|error: std::io::Error| error.to_string())
    }

    /// A page as a browser opens it.
    fn page(&self, host: &str, origin: &str) -> Option<WebSocket<TcpStream>> {
        let mut request = format!("ws://{}/live", self.address)
            .into_client_request()
            .ok()?;
        let headers = request.headers_mut();
        headers.insert("Origin", origin.parse().ok()?);
        headers.insert("Host", host.parse().ok()?);
        let stream = self.stream(PATIENCE).ok()?;
        tungstenite::client(request, stream)
            .ok()
            .map(|(page, _)| page)
    }

    fn own_page(&self) -> Option<WebSocket<TcpStream>> {
        let host = self.address.to_string();
        self.page(&host, &format!("http://{host}"))
    }

    /// Whether a page that behaves is welcomed within the time that strangers may hold its place.
    fn is_well(&self) -> bool {
        let begin = Instant::now();
        while begin.elapsed() < PATIENCE {
            let welcome = self.own_page().and_then(|mut page| page.read().ok());
            if welcome.is_some_and(|message| message.is_text()) {
                return true;
            }
            std::thread::sleep(SHORT);
        }
        false
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Lets so many strangers in, one kind after the other.
pub(crate) fn attack(asked: &Asked, count: u64, seed: u64) -> Result<Tally, String> {
    asked.check_class(&STRANGERS.map(|(name, _)| name))?;
    let mut tally = Tally::default();
    let mut served = Served::start()?;
    for i in asked.first..asked.first + count {
        let (name, stranger) = STRANGERS[i as usize % STRANGERS.len()];
        if asked.skips(name) {
            continue;
        }
        let mut random = Random::new(own_seed(seed, 34, i));
        let begin = Instant::now();
        let let_in = meet(&served, stranger, &mut random);
        // Strangers that say nothing are still there while the page comes.
        let silent = match stranger {
            Stranger::Slow => slow(&served, &mut random),
            _ => Vec::new(),
        };
        let well = served.is_well();
        drop(silent);
        let row = tally.row("server", name);
        row.tried();
        row.failed("let in", u64::from(let_in));
        row.failed("gone", u64::from(!well));
        row.worst("slowest s", begin.elapsed().as_secs_f64());
        let memory = peak_memory_of(&served.child).unwrap_or(0.0);
        row.worst("memory MB", memory);
        row.failed("memory", u64::from(MEMORY_BOUND < memory));
        if let_in || !well {
            asked.note(&format!("{name} {i}: let in {let_in}, well {well}"));
            served = Served::start()?;
        }
    }
    Ok(tally)
}

/// Whether the stranger was let in who should not have been.
fn meet(served: &Served, stranger: Stranger, random: &mut Random) -> bool {
    match stranger {
        Stranger::Host => {
            let host = foreign(random, served.address);
            let request = format!("GET / HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
            let answer = served.ask(request.as_bytes());
            answer.starts_with("HTTP/1.1 2")
                || served.page(&host, &format!("http://{host}")).is_some()
        }
        Stranger::Origin => {
            let host = served.address.to_string();
            let name = foreign(random, served.address);
            let origins = [
                "null".to_owned(),
                format!("http://{name}"),
                format!("https://{host}"),
            ];
            let origin = &origins[random.below(origins.len())];
            served.page(&host, origin).is_some()
        }
        Stranger::Request => {
            let good = format!(
                "GET / HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\r\n",
                served.address
            );
            let mut request = good.clone().into_bytes();
            mutate::mutate(random, &mut request, good.as_bytes());
            served.ask(&request);
            false
        }
        Stranger::Message => {
            speak(served, (0..20).map(|_| bad_message(random)));
            false
        }
        Stranger::Long => {
            let length = 4097 + random.below(1 << 20);
            // A page that says too much is shown out.
            let Some(mut page) = served.own_page() else {
                return false;
            };
            let _ = page.send(Message::text(" ".repeat(length)));
            stays(&mut page)
        }
        Stranger::Flood => {
            let ping = Message::text(r#"{"type":"play","on":true}"#);
            speak(served, (0..3000).map(|_| ping.clone()));
            false
        }
        Stranger::Slow => false,
        Stranger::Broken => {
            broken(served, random);
            false
        }
        Stranger::Crowd => crowd(served),
    }
}

/// Names and addresses that are not the server's.
fn foreign(random: &mut Random, own: SocketAddr) -> String {
    let port = own.port();
    let names = [
        format!("evil.example:{port}"),
        format!("127.0.0.1:{}", port ^ 1),
        format!("localhost.evil.example:{port}"),
        format!("127.0.0.1.nip.example:{port}"),
        format!("10.0.0.1:{port}"),
        format!("[::ffff:10.0.0.1]:{port}"),
        "localhost".to_owned(),
    ];
    names[random.below(names.len())].clone()
}

fn bad_message(random: &mut Random) -> Message {
    let corpus = FileFormat::Message.corpus();
    let mut bytes = corpus[random.below(corpus.len())].bytes.clone();
    let other = &corpus[random.below(corpus.len())].bytes;
    mutate::mutate(random, &mut bytes, other);
    bytes.truncate(4096);
    match random.below(4) {
        0 => Message::binary(bytes),
        _ => Message::text(String::from_utf8_lossy(&bytes).into_owned()),
    }
}

/// Sends messages until the server has had enough, and reads nothing.
fn speak(served: &Served, messages: impl Iterator<Item = Message>) {
    if let Some(mut page) = served.own_page() {
        for message in messages {
            if page.send(message).is_err() {
                break;
            }
        }
    }
}

/// Whether a page is still connected after all that is under way has been read.
fn stays(page: &mut WebSocket<TcpStream>) -> bool {
    let begin = Instant::now();
    while begin.elapsed() < PATIENCE {
        match page.read() {
            Ok(Message::Close(_)) | Err(_) => return false,
            Ok(_) => {}
        }
    }
    true
}

/// Many connections that begin a request and do not end it.
fn slow(served: &Served, random: &mut Random) -> Vec<TcpStream> {
    let count = 1 + random.below(100);
    let open = (0..count).filter_map(|_| {
        let mut stream = served.stream(SHORT).ok()?;
        let _ = stream.write_all(b"GET /live HTTP/1.1\r\nHost: ");
        Some(stream)
    });
    open.collect()
}

/// A page that leaves in the middle of a frame, or sends bytes that are none.
fn broken(served: &Served, random: &mut Random) {
    let Some(page) = served.own_page() else {
        return;
    };
    let mut stream = page.get_ref().try_clone();
    if let Ok(stream) = &mut stream {
        let bytes: Vec<u8> = (0..1 + random.below(200))
            .map(|_| random.bits() as u8)
            .collect();
        let _ = stream.write_all(&bytes);
    }
}

/// More pages than are served at once: eight get in, and no more.
fn crowd(served: &Served) -> bool {
    let pages: Vec<_> = (0..12).filter_map(|_| served.own_page()).collect();
    8 < pages.len()
}
