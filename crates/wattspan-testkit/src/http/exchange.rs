//! Reads a request and writes an answer, as far as HTTP/1.1 is needed for that.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use super::StubRequest;
use super::answer::{Answer, Form, Wait};

/// Larger than any test sends; a length beyond it is a fault of the client.
const LARGEST_BODY: u64 = 256 << 20;

/// A whole request; `None` when the client closed before it sent one.
pub(super) fn read(stream: &mut TcpStream) -> io::Result<Option<StubRequest>> {
    let mut input = BufReader::new(stream);
    let mut line = String::new();
    input.read_line(&mut line)?;
    let mut words = line.split_whitespace();
    let (Some(method), Some(target)) = (words.next(), words.next()) else { return Ok(None) };
    let (method, target) = (method.to_owned(), target.to_owned());
    let mut headers = Vec::new();
    loop {
        let mut line = String::new();
        input.read_line(&mut line)?;
        match line.trim_end().split_once(':') {
            Some((name, value)) => headers.push((name.to_ascii_lowercase(), value.trim().to_owned())),
            None => break,
        }
    }
    let mut request = StubRequest { method, target, headers, body: Vec::new() };
    if request.header("expect").is_some_and(|value| value.eq_ignore_ascii_case("100-continue")) {
        input.get_mut().write_all(b"HTTP/1.1 100 Continue\r\n\r\n")?;
    }
    let chunked =
        request.header("transfer-encoding").is_some_and(|value| value.eq_ignore_ascii_case("chunked"));
    request.body =
        if chunked { chunks(&mut input)? } else { sized(&mut input, request.header("content-length"))? };
    Ok(Some(request))
}

fn sized(input: &mut impl Read, length: Option<&str>) -> io::Result<Vec<u8>> {
    let length: u64 = length.map_or(Ok(0), str::parse).map_err(io::Error::other)?;
    exactly(input, length)
}

fn exactly(input: &mut impl Read, length: u64) -> io::Result<Vec<u8>> {
    if length > LARGEST_BODY {
        return Err(io::Error::other("the body is too large"));
    }
    let mut body = Vec::new();
    input.take(length).read_to_end(&mut body)?;
    if body.len() as u64 == length { Ok(body) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
}

fn chunks(input: &mut impl BufRead) -> io::Result<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let mut size = String::new();
        input.read_line(&mut size)?;
        let digits = size.split(';').next().unwrap_or_default().trim();
        let size = u64::from_str_radix(digits, 16).map_err(io::Error::other)?;
        body.extend(exactly(input, size)?);
        if body.len() as u64 > LARGEST_BODY {
            return Err(io::Error::other("the body is too large"));
        }
        // The line's end after each chunk; after the last one, trailers up to the blank line.
        let mut end = String::new();
        while input.read_line(&mut end)? > 0 && size == 0 && !end.trim_end().is_empty() {
            end.clear();
        }
        if size == 0 {
            return Ok(body);
        }
    }
}

pub(super) fn write(stream: &mut TcpStream, answer: &Answer, stop: &AtomicBool) -> io::Result<()> {
    if answer.form == Form::Silence {
        return Ok(());
    }
    stream.set_nodelay(true)?;
    let mut parts = answer.parts.iter();
    // What is waited for before the first part is waited for before the status line.
    let first = parts.next();
    if let Some((wait, _)) = first
        && !wait.over(stop)
    {
        return Ok(());
    }
    stream.write_all(head(answer).as_bytes())?;
    let mut left = match answer.form {
        Form::Truncated(bytes) => bytes,
        _ => usize::MAX,
    };
    for (index, (wait, part)) in first.into_iter().chain(parts).enumerate() {
        if index > 0 && !wait.over(stop) {
            return Ok(());
        }
        let part = &part[..part.len().min(left)];
        left -= part.len();
        if part.is_empty() {
            continue;
        }
        if answer.form == Form::Chunked {
            write!(stream, "{:x}\r\n", part.len())?;
        }
        stream.write_all(part)?;
        if answer.form == Form::Chunked {
            stream.write_all(b"\r\n")?;
        }
    }
    if answer.form == Form::Chunked {
        stream.write_all(b"0\r\n\r\n")?;
    }
    stream.flush()
}

fn head(answer: &Answer) -> String {
    let mut head = format!("HTTP/1.1 {} {}\r\n", answer.status, reason(answer.status));
    for (name, value) in &answer.headers {
        head.extend([name, ": ", value, "\r\n"]);
    }
    if answer.form == Form::Chunked {
        head.push_str("transfer-encoding: chunked\r\n");
    } else {
        let length: usize = answer.parts.iter().map(|(_, part)| part.len()).sum();
        head.extend(["content-length: ", &length.to_string(), "\r\n"]);
    }
    head.push_str("connection: close\r\n\r\n");
    head
}

/// The phrases of RFC 9110 for the statuses that tests use; clients do not read them.
const fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        400 => "Bad Request",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "Not Found",
        429 => "Too Many Requests",
        500 => "Internal Server Error",
        503 => "Service Unavailable",
        _ => "Status",
    }
}

impl Wait {
    /// Waits; answers whether to go on.
    fn over(&self, stop: &AtomicBool) -> bool {
        match self {
            Self::Not => true,
            Self::Until(gate) => gate.wait(stop),
            Self::For(time) => {
                let until = Instant::now() + *time;
                // In steps, so that a long wait does not outlive the server.
                while Instant::now() < until && !stop.load(Ordering::SeqCst) {
                    thread::sleep(
                        Duration::from_millis(20).min(until.saturating_duration_since(Instant::now())),
                    );
                }
                !stop.load(Ordering::SeqCst)
            }
        }
    }
}
