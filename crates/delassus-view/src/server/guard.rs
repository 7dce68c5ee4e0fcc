//! Who may talk to the server: pages it served itself, under an address that is its own.
//!
//! A page of another site can open a WebSocket to this machine; its Origin gives it away. A name that some attacker
//! lets point to this machine (DNS rebinding) makes origins agree; the Host header then holds that name, and only
//! `localhost` and plain addresses are taken.

use std::net::{IpAddr, SocketAddr};

use axum::http::{HeaderMap, header};

use super::Framing;

/// Sent with every answer.
pub(super) const HEADERS: [(&str, &str); 5] = [
    ("x-content-type-options", "nosniff"),
    ("referrer-policy", "no-referrer"),
    ("cross-origin-opener-policy", "same-origin"),
    ("cross-origin-resource-policy", "same-origin"),
    ("cache-control", "no-store"),
];

/// What the page may load and who may show it within another page; the second is for browsers that do not know the
/// first.
pub(super) fn framing(framing: Framing) -> &'static [(&'static str, &'static str)] {
    match framing {
        Framing::Nobody => &[
            (
                "content-security-policy",
                "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; object-src 'none'",
            ),
            ("x-frame-options", "DENY"),
        ],
        Framing::ThisMachine => &[(
            "content-security-policy",
            "default-src 'self'; base-uri 'none'; form-action 'none'; \
             frame-ancestors http://localhost:* http://127.0.0.1:* http://[::1]:*; object-src 'none'",
        )],
    }
}

/// Whether a request was sent to one of the server's own addresses.
pub(super) fn host_is_ours(headers: &HeaderMap, address: SocketAddr) -> bool {
    let Some(host) = text(headers, header::HOST) else {
        return false;
    };
    let Some((name, port)) = split(host) else {
        return false;
    };
    if port != address.port() {
        return false;
    }
    if name == "localhost" {
        return true;
    }
    let name = name
        .strip_prefix('[')
        .and_then(|n| n.strip_suffix(']'))
        .unwrap_or(name);
    match name.parse::<IpAddr>() {
        Ok(ip) if address.ip().is_loopback() => ip.is_loopback(),
        Ok(_) => true,
        Err(_) => false,
    }
}

/// Whether a message was sent by a page of this very server; a missing origin is no such page.
pub(super) fn origin_is_ours(headers: &HeaderMap) -> bool {
    let host = text(headers, header::HOST);
    let origin = text(headers, header::ORIGIN).and_then(|origin| origin.strip_prefix("http://"));
    host.is_some() && host == origin
}

fn text(headers: &HeaderMap, name: header::HeaderName) -> Option<&str> {
    let mut values = headers.get_all(name).iter();
    let value = values.next()?.to_str().ok()?;
    // Two of them contradict each other.
    values.next().is_none().then_some(value)
}

/// Name and port; the port is 80 where none is given.
fn split(host: &str) -> Option<(&str, u16)> {
    let end = host.rfind(']').unwrap_or(0);
    match host[end..].rfind(':') {
        Some(colon) => {
            let colon = end + colon;
            Some((&host[..colon], host[colon + 1..].parse().ok()?))
        }
        None => Some((host, 80)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(host: &str, origin: Option<&str>) -> HeaderMap {
        let mut headers = HeaderMap::new();
        headers.insert(header::HOST, host.parse().unwrap());
        if let Some(origin) = origin {
            headers.insert(header::ORIGIN, origin.parse().unwrap());
        }
        headers
    }

    #[test]
    fn only_own_addresses_are_hosts() {
        let local: SocketAddr = "127.0.0.1:7877".parse().unwrap();
        let ours = |host: &str| host_is_ours(&headers(host, None), local);
        assert!(ours("127.0.0.1:7877") && ours("localhost:7877") && ours("[::1]:7877"));
        for foreign in [
            "evil.example:7877",
            "127.0.0.1.evil.example:7877",
            "localhost",
            "localhost:80",
            "192.168.1.2:7877",
            "",
            ":7877",
            "[::1:7877",
            "localhost:7877:7877",
        ] {
            assert!(!ours(foreign), "{foreign}");
        }
        let wide: SocketAddr = "0.0.0.0:7877".parse().unwrap();
        assert!(host_is_ours(&headers("192.168.1.2:7877", None), wide));
        assert!(!host_is_ours(&headers("evil.example:7877", None), wide));
    }

    #[test]
    fn only_own_pages_are_origins() {
        let ours = |origin| origin_is_ours(&headers("127.0.0.1:7877", origin));
        assert!(ours(Some("http://127.0.0.1:7877")));
        for foreign in [
            None,
            Some("null"),
            Some("http://localhost:7877"),
            Some("https://127.0.0.1:7877"),
            Some("http://127.0.0.1:7878"),
            Some("http://evil.example"),
        ] {
            assert!(!ours(foreign), "{foreign:?}");
        }
    }
}
