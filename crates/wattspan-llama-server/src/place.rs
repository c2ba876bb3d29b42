//! Where a server is, which decides whether this machine's devices are charged for its work.

use std::fmt;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use wattspan_core::Locality;

/// Finds the process that listens on a port of this machine.
pub type PidResolver = Arc<dyn Fn(u16) -> Option<u32> + Send + Sync>;

/// How the locality of a server is known.
#[derive(Clone)]
pub(crate) struct Place {
    fixed: Option<Locality>,
    resolver: Option<PidResolver>,
    found: Arc<Mutex<Option<Found>>>,
}

#[derive(Clone, Copy)]
struct Found {
    port: u16,
    pid: Option<u32>,
    at: Instant,
}

/// A look-up reads much of `/proc`, so one that found nothing is not made again for each call.
const AGAIN_AFTER: Duration = Duration::from_secs(5);

impl Place {
    pub(crate) fn new(fixed: Option<Locality>, resolver: Option<PidResolver>) -> Self {
        Self { fixed, resolver, found: Arc::default() }
    }

    /// Where a server at this host is. `unix`: it is reached through a Unix socket.
    pub(crate) fn locality(&self, host: &str, port: Option<u16>, unix: bool) -> Locality {
        if let Some(fixed) = self.fixed {
            return fixed;
        }
        if unix {
            return Locality::LocalServer { pid: None };
        }
        if !is_this_machine(host) {
            return Locality::Remote;
        }
        Locality::LocalServer { pid: port.and_then(|port| self.pid(port)) }
    }

    /// The connection broke: the server behind the port may be another process next time.
    pub(crate) fn forget(&self) {
        *self.found.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    fn pid(&self, port: u16) -> Option<u32> {
        let resolver = self.resolver.as_ref()?;
        let known = *self.found.lock().unwrap_or_else(PoisonError::into_inner);
        let still_good = |found: &Found| found.pid.is_some() || found.at.elapsed() < AGAIN_AFTER;
        if let Some(found) = known.filter(|found| found.port == port && still_good(found)) {
            return found.pid;
        }
        // Not under the lock: the resolver is the application's and may take its time.
        let found = Found { port, pid: resolver(port), at: Instant::now() };
        *self.found.lock().unwrap_or_else(PoisonError::into_inner) = Some(found);
        found.pid
    }
}

impl fmt::Debug for Place {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Place").field("fixed", &self.fixed).finish_non_exhaustive()
    }
}

/// Whether a host of a URL is this machine's loopback (or "any address", which connects to it).
pub(crate) fn is_this_machine(host: &str) -> bool {
    let host = host.trim_start_matches('[').trim_end_matches(']');
    if host.eq_ignore_ascii_case("localhost") || host.to_ascii_lowercase().ends_with(".localhost") {
        return true;
    }
    match host.parse() {
        Ok(IpAddr::V4(address)) => address.is_loopback() || address.is_unspecified(),
        Ok(IpAddr::V6(address)) => {
            let mapped = address.to_ipv4_mapped().is_some_and(|address| address.is_loopback());
            address.is_loopback() || address.is_unspecified() || mapped
        }
        Err(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU32, Ordering};

    #[test]
    fn loopback_is_this_machine_and_all_else_is_not() {
        for host in
            ["localhost", "LOCALHOST", "a.localhost", "127.0.0.1", "127.9.9.9", "[::1]", "::1", "0.0.0.0"]
        {
            assert!(is_this_machine(host), "{host}");
        }
        for host in ["example.com", "localhost.example.com", "10.0.0.1", "192.168.1.2", "[2001:db8::1]", ""] {
            assert!(!is_this_machine(host), "{host}");
        }
    }

    #[test]
    fn the_process_is_looked_up_once_and_again_after_the_connection_broke() {
        let calls = Arc::new(AtomicU32::new(0));
        let counted = Arc::clone(&calls);
        let resolver: PidResolver = Arc::new(move |port| {
            assert_eq!(port, 8080);
            Some(100 + counted.fetch_add(1, Ordering::SeqCst))
        });
        let place = Place::new(None, Some(resolver));
        for _ in 0..3 {
            let here = place.locality("127.0.0.1", Some(8080), false);
            assert_eq!(here, Locality::LocalServer { pid: Some(100) });
        }
        place.forget();
        assert_eq!(place.locality("localhost", Some(8080), false), Locality::LocalServer { pid: Some(101) });
        assert_eq!(place.locality("example.com", Some(8080), false), Locality::Remote);
        assert_eq!(calls.load(Ordering::SeqCst), 2);
    }

    #[test]
    fn what_the_user_says_wins() {
        let place = Place::new(Some(Locality::Remote), None);
        assert_eq!(place.locality("127.0.0.1", Some(1), false), Locality::Remote);
        let place = Place::new(None, None);
        assert_eq!(place.locality("ignored", None, true), Locality::LocalServer { pid: None });
    }
}
