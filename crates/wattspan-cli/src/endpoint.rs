//! Whether something that speaks a protocol answers at an address. Nothing is sent that says anything about this
//! machine, and no credentials are.

use std::io::{self, Read, Write};
use std::net::{TcpStream, ToSocketAddrs as _};
use std::sync::mpsc;
use std::time::Duration;

/// The parts of a URL that a connection needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Endpoint {
    secure: bool,
    host: String,
    port: u16,
    /// Without a slash at its end.
    path: String,
}

/// What a peer must speak.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Speaks {
    /// OTLP over HTTP.
    OtlpHttp,
    /// OTLP over gRPC, and so HTTP/2.
    Grpc,
    /// llama-server.
    LlamaServer,
    /// A program that answers scrapes.
    Prometheus,
    /// Prometheus's gateway for jobs that end.
    Pushgateway,
}

impl Endpoint {
    /// From a URL with or without a scheme. The part before an `@` is dropped, since it may be a secret.
    pub(crate) fn parse(url: &str) -> Result<Self, String> {
        let (scheme, rest) = url.trim().split_once("://").unwrap_or(("http", url.trim()));
        let secure = match scheme {
            "http" => false,
            "https" => true,
            _ => return Err(format!("{scheme} is no scheme for this: use http or https")),
        };
        let (authority, path) = rest.find('/').map_or((rest, ""), |slash| rest.split_at(slash));
        let authority = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
        let (host, port) = match authority.rsplit_once(':') {
            Some((host, port)) if !port.ends_with(']') => {
                (host, port.parse().map_err(|_| format!("{port} is no port"))?)
            }
            _ => (authority, if secure { 443 } else { 80 }),
        };
        let host = host.trim_start_matches('[').trim_end_matches(']');
        if host.is_empty() {
            return Err("there is no host in it".to_owned());
        }
        Ok(Self { secure, host: host.to_owned(), port, path: path.trim_end_matches('/').to_owned() })
    }

    /// Without credentials.
    pub(crate) fn shown(&self) -> String {
        let scheme = if self.secure { "https" } else { "http" };
        let host = if self.host.contains(':') { format!("[{}]", self.host) } else { self.host.clone() };
        format!("{scheme}://{host}:{}{}", self.port, self.path)
    }

    /// Whether it answers: what it said, or why not and what to do.
    pub(crate) fn ask(&self, speaks: Speaks) -> Result<String, String> {
        let mut stream = self.connect()?;
        if self.secure {
            return Ok("accepts connections; TLS was not tried".to_owned());
        }
        let said = match speaks {
            Speaks::Grpc => http2(&mut stream),
            Speaks::OtlpHttp => {
                let path = format!("{}/v1/traces", self.path);
                // An export request without spans is an empty message in protobuf.
                let head = "content-type: application/x-protobuf\r\ncontent-length: 0\r\n";
                http1(&mut stream, &self.host, "POST", &path, head)
            }
            Speaks::LlamaServer | Speaks::Prometheus | Speaks::Pushgateway => {
                let page = match speaks {
                    Speaks::LlamaServer => "/health",
                    Speaks::Prometheus => "/metrics",
                    _ => "/-/ready",
                };
                http1(&mut stream, &self.host, "GET", &format!("{}{page}", self.path), "")
            }
        };
        said.unwrap_or_else(|error| {
            Err(match error.kind() {
                io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => {
                    "accepts connections and does not answer: check the port and the protocol".to_owned()
                }
                _ => format!("breaks the connection off ({error}): check the port and the protocol"),
            })
        })
    }

    fn connect(&self) -> Result<TcpStream, String> {
        let (send, receive) = mpsc::channel();
        let address = (self.host.clone(), self.port);
        // A look-up of a name has no time limit of its own; the thread ends with it or with the program.
        std::thread::spawn(move || {
            let addresses = address.to_socket_addrs().map(Iterator::collect::<Vec<_>>);
            // The receiver has gone when the time was up.
            let _ = send.send(addresses);
        });
        let addresses = match receive.recv_timeout(PATIENCE) {
            Ok(Ok(addresses)) => addresses,
            Ok(Err(error)) => return Err(format!("its name is not known ({error}): check the host")),
            Err(_) => return Err("the look-up of its name takes too long: check the name service".to_owned()),
        };
        let mut last = None;
        for address in addresses {
            let connected = TcpStream::connect_timeout(&address, PATIENCE).and_then(|stream| {
                stream.set_read_timeout(Some(PATIENCE))?;
                stream.set_write_timeout(Some(PATIENCE))?;
                Ok(stream)
            });
            match connected {
                Ok(stream) => return Ok(stream),
                Err(error) => last = Some(error),
            }
        }
        let reason = last.map_or_else(|| "no address".to_owned(), |error| error.to_string());
        Err(format!("cannot be reached ({reason}): start it, or check host and port"))
    }
}

type Answer = io::Result<Result<String, String>>;

fn http1(stream: &mut (impl Read + Write), host: &str, method: &str, path: &str, head: &str) -> Answer {
    let request = format!("{method} {path} HTTP/1.1\r\nhost: {host}\r\n{head}connection: close\r\n\r\n");
    // In one piece: a peer that speaks something else may hang up after the first.
    stream.write_all(request.as_bytes())?;
    let mut answer = Vec::new();
    let mut part = [0; 256];
    while !answer.contains(&b'\n') && answer.len() < 1024 {
        match stream.read(&mut part)? {
            0 => break,
            length => answer.extend_from_slice(&part[..length]),
        }
    }
    let line = String::from_utf8_lossy(&answer);
    let mut words = line.split_ascii_whitespace();
    let version = words.next().filter(|version| version.starts_with("HTTP/1."));
    let status = version.and_then(|_| words.next()).and_then(|status| status.parse::<u16>().ok());
    Ok(match status {
        Some(200..=299) => Ok("answers".to_owned()),
        Some(status @ (401 | 403)) => {
            Ok(format!("answers {status}: it wants credentials, which were not tried"))
        }
        Some(404 | 405) => Err(format!("speaks HTTP and has no {path}: check the path of the endpoint")),
        Some(status) => Err(format!("answers {status}: see its log")),
        None => Err("does not speak HTTP/1: check the port and the protocol".to_owned()),
    })
}

fn http2(stream: &mut (impl Read + Write)) -> Answer {
    stream.write_all(PREFACE)?;
    let mut head = [0; 9];
    stream.read_exact(&mut head)?;
    // The first frame of a server is SETTINGS, type 4, on stream 0.
    let settings = head[3] == 4 && head[5..] == [0; 4];
    Ok(if settings {
        Ok("answers".to_owned())
    } else {
        Err("does not speak HTTP/2, which gRPC needs: check the port and the protocol".to_owned())
    })
}

/// A client's connection preface and an empty SETTINGS frame. (RFC 9113, sections 3.4 and 6.5.)
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0";
/// A receiver beside this machine answers in milliseconds, one across the world in less than this.
const PATIENCE: Duration = Duration::from_secs(2);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_lose_their_credentials() {
        let parsed = |url| Endpoint::parse(url).map(|endpoint| endpoint.shown());
        assert_eq!(parsed("http://127.0.0.1:4318"), Ok("http://127.0.0.1:4318".to_owned()));
        assert_eq!(parsed("https://user:pass@host/otlp/"), Ok("https://host:443/otlp".to_owned()));
        assert_eq!(parsed("collector:4317"), Ok("http://collector:4317".to_owned()));
        assert_eq!(parsed("http://[::1]:80/"), Ok("http://[::1]:80".to_owned()));
        assert_eq!(parsed("http://[::1]"), Ok("http://[::1]:80".to_owned()));
        for wrong in ["ftp://host", "http://", "http://host:port"] {
            assert!(parsed(wrong).is_err(), "{wrong}");
        }
    }

    /// A peer that has said all it will ever say.
    struct Peer(&'static [u8]);

    impl Read for Peer {
        fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
            self.0.read(into)
        }
    }

    impl Write for Peer {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn peers_that_speak_something_else_are_told_apart() {
        let one = |answer| http1(&mut Peer(answer), "host", "GET", "/health", "").unwrap();
        assert_eq!(one(b"HTTP/1.1 200 OK\r\n\r\n"), Ok("answers".to_owned()));
        assert!(one(b"HTTP/1.1 401 Unauthorized\r\n\r\n").unwrap().contains("credentials"));
        assert!(one(b"HTTP/1.1 404 Not Found\r\n\r\n").unwrap_err().contains("/health"));
        assert!(one(b"HTTP/1.1 503 Service Unavailable\r\n\r\n").unwrap_err().contains("503"));
        assert!(one(b"SSH-2.0-OpenSSH_9.6\r\n").unwrap_err().contains("HTTP/1"));
        let two = |answer| http2(&mut Peer(answer)).unwrap();
        assert_eq!(two(b"\0\0\0\x04\0\0\0\0\0"), Ok("answers".to_owned()));
        assert!(two(b"HTTP/1.1 400 Bad Request\r\n\r\n").is_err());
        assert!(http2(&mut Peer(b"")).is_err());
    }
}
