//! Just enough HTTP for metadata services on the machine's own link: plain text over TCP, to an address and never a
//! name, never through a proxy, and within one deadline. Anything farther away goes through a real client.

use std::io::{Read, Write};
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::time::{Duration, Instant};

/// A status, its headers and its body.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    headers: Vec<(String, String)>,
    pub(crate) body: String,
}

impl Answer {
    /// A header's value; names in small letters.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}

/// Metadata answers are a few kilobytes; a service that sends more is not one.
const LIMIT: u64 = 64 * 1024;

/// Sends a request without a body and reads the answer. The error is a reason in a few words.
pub(crate) fn request(
    method: &str,
    base: &str,
    path: &str,
    headers: &[(&str, &str)],
    deadline: Instant,
) -> Result<Answer, String> {
    let (address, host, prefix) = split(base)?;
    let mut stream =
        TcpStream::connect_timeout(&address, left(deadline)?).map_err(|error| reason("connect", &error))?;
    let mut text = format!("{method} {prefix}{path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n");
    if method == "PUT" {
        text.push_str("Content-Length: 0\r\n");
    }
    for (name, value) in headers {
        // A token that a service sent is sent back: it must not be able to write headers of its own.
        if value.bytes().any(|byte| byte.is_ascii_control()) {
            return Err(format!("the value of {name} has control characters"));
        }
        text.extend([*name, ": ", value, "\r\n"]);
    }
    text.push_str("\r\n");
    stream.set_write_timeout(Some(left(deadline)?)).map_err(|error| reason("set up", &error))?;
    stream.write_all(text.as_bytes()).map_err(|error| reason("send", &error))?;
    parse(&read_all(&mut stream, deadline)?)
}

/// Reads until the other side closes or all that it announced is there.
fn read_all(stream: &mut TcpStream, deadline: Instant) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    let mut part = [0; 4096];
    loop {
        stream.set_read_timeout(Some(left(deadline)?)).map_err(|error| reason("set up", &error))?;
        match stream.read(&mut part) {
            Ok(0) => return Ok(bytes),
            Ok(count) => bytes.extend_from_slice(&part[..count]),
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Err(reason("read", &error)),
        }
        if bytes.len() as u64 > LIMIT {
            return Err("the answer is longer than 64 KiB".to_owned());
        }
        if complete(&bytes) {
            return Ok(bytes);
        }
    }
}

/// Whether a message with a stated length is all there.
fn complete(bytes: &[u8]) -> bool {
    let Some(end) = head_end(bytes) else { return false };
    let head = String::from_utf8_lossy(&bytes[..end]).to_lowercase();
    let length =
        head.lines().find_map(|line| line.strip_prefix("content-length:")?.trim().parse::<usize>().ok());
    length.is_some_and(|length| bytes.len() - end >= length)
}

fn parse(bytes: &[u8]) -> Result<Answer, String> {
    let end = head_end(bytes).ok_or("the answer has no end of headers")?;
    let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
    let mut lines = head.lines();
    let status = lines
        .next()
        .filter(|line| line.starts_with("HTTP/1."))
        .and_then(|line| line.split(' ').nth(1)?.parse().ok())
        .ok_or("the answer is not HTTP")?;
    let headers: Vec<_> = lines
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.trim().to_lowercase(), value.trim().to_owned()))
        .collect();
    let chunked = headers
        .iter()
        .any(|(name, value)| name == "transfer-encoding" && value.to_lowercase().contains("chunked"));
    let body = &bytes[end..];
    let body = if chunked { unchunk(body)? } else { body.to_vec() };
    let body = String::from_utf8(body).map_err(|_| "the answer is not UTF-8")?;
    Ok(Answer { status, headers, body })
}

fn head_end(bytes: &[u8]) -> Option<usize> {
    bytes.windows(4).position(|window| window == b"\r\n\r\n").map(|at| at + 4)
}

/// Puts chunks together (RFC 9112, section 7.1).
fn unchunk(mut rest: &[u8]) -> Result<Vec<u8>, String> {
    let cut = || "the answer breaks off".to_owned();
    let mut body = Vec::new();
    loop {
        let line = rest.windows(2).position(|window| window == b"\r\n").ok_or_else(cut)?;
        let size =
            std::str::from_utf8(&rest[..line]).ok().and_then(|text| text.split(';').next()).unwrap_or("");
        let size = usize::from_str_radix(size.trim(), 16).map_err(|_| cut())?;
        rest = &rest[line + 2..];
        if size == 0 {
            return Ok(body);
        }
        body.extend_from_slice(rest.get(..size).ok_or_else(cut)?);
        rest = rest.get(size..).and_then(|rest| rest.strip_prefix(b"\r\n")).ok_or_else(cut)?;
    }
}

/// Address, host header and path prefix of `http://169.254.169.254` or `http://127.0.0.1:8080/prefix`.
fn split(base: &str) -> Result<(SocketAddr, &str, &str), String> {
    let wrong = || format!("{base:?} is no http:// address of numbers");
    let rest = base.strip_prefix("http://").ok_or_else(wrong)?;
    let at = rest.find('/').unwrap_or(rest.len());
    let (host, prefix) = rest.split_at(at);
    let address = host
        .parse::<SocketAddr>()
        .or_else(|_| {
            let bare = host.trim_start_matches('[').trim_end_matches(']');
            bare.parse::<IpAddr>().map(|address| SocketAddr::new(address, 80))
        })
        .map_err(|_| wrong())?;
    Ok((address, host, prefix.trim_end_matches('/')))
}

fn left(deadline: Instant) -> Result<Duration, String> {
    let left = deadline.saturating_duration_since(Instant::now());
    if left.is_zero() { Err("no answer in time".to_owned()) } else { Ok(left) }
}

fn reason(doing: &str, error: &std::io::Error) -> String {
    match error.kind() {
        std::io::ErrorKind::TimedOut | std::io::ErrorKind::WouldBlock => "no answer in time".to_owned(),
        kind => format!("cannot {doing}: {kind}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_are_put_together_and_broken_ones_refused() {
        let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
        let answer = parse(format!("{head}4\r\nwest\r\n6;x=y\r\neurope\r\n0\r\n\r\n").as_bytes()).unwrap();
        assert_eq!((answer.status, answer.body.as_str()), (200, "westeurope"));
        for broken in ["5\r\nwest\r\n", "zz\r\n", "4\r\nwest", "ffffffffffffffff\r\n"] {
            assert!(parse(format!("{head}{broken}").as_bytes()).is_err(), "{broken:?}");
        }
    }

    #[test]
    fn only_addresses_are_called() {
        assert_eq!(split("http://169.254.169.254").unwrap().0.port(), 80);
        let (address, host, prefix) = split("http://169.254.170.2/v4/abc/").unwrap();
        assert_eq!(
            (address.to_string().as_str(), host, prefix),
            ("169.254.170.2:80", "169.254.170.2", "/v4/abc")
        );
        assert!(split("http://[fd00:ec2::254]").is_ok());
        for base in ["https://169.254.169.254", "http://metadata.google.internal", "169.254.169.254", ""] {
            assert!(split(base).is_err(), "{base}");
        }
    }

    #[test]
    fn what_is_not_http_is_refused() {
        for bytes in ["", "SSH-2.0-x\r\n\r\n", "HTTP/1.1 abc\r\n\r\n", "HTTP/1.1 200 OK\r\n"] {
            assert!(parse(bytes.as_bytes()).is_err(), "{bytes:?}");
        }
    }
}
