//! What every client of a network needs beside its library.

use std::hash::{BuildHasher as _, RandomState};
use std::time::Duration;

/// A number from 0 up to 1, drawn by lot. Not for secrets: it comes from the standard library's random hash keys.
///
/// ```
/// assert!((0.0..1.0).contains(&wattspan_core::random_share()));
/// ```
pub fn random_share() -> f64 {
    // Each `RandomState` has keys of its own: a lot without a dependency.
    (RandomState::new().hash_one(()) >> 11) as f64 / (1_u64 << 53) as f64
}

/// Between half of a wait and all of it, drawn by lot, so that programs that were sent away together do not return
/// together.
///
/// ```
/// use std::time::Duration;
///
/// let wait = wattspan_core::jittered(Duration::from_secs(4));
/// assert!(wait >= Duration::from_secs(2) && wait <= Duration::from_secs(4));
/// ```
pub fn jittered(wait: Duration) -> Duration {
    wait.mul_f64(f64::midpoint(random_share(), 1.0))
}

/// Whether the host of a URL is this machine's loopback: `localhost` or an address, that of IPv6 with or without brackets.
///
/// ```
/// use wattspan_core::is_loopback_host;
///
/// assert!(is_loopback_host("localhost") && is_loopback_host("127.0.0.2") && is_loopback_host("[::1]"));
/// assert!(!is_loopback_host("localhost.example.com") && !is_loopback_host("0.0.0.0") && !is_loopback_host(""));
/// ```
pub fn is_loopback_host(host: &str) -> bool {
    let host = host.trim_start_matches('[').trim_end_matches(']');
    host == "localhost" || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_random_share_stays_between_nothing_and_all() {
        let shares: Vec<f64> = (0..1_000).map(|_| random_share()).collect();
        assert!(shares.iter().all(|share| (0.0..1.0).contains(share)));
        assert!(shares.iter().any(|share| *share < 0.1) && shares.iter().any(|share| *share > 0.9));
    }

    #[test]
    fn waits_lie_between_half_and_all_and_differ() {
        let whole = Duration::from_secs(10);
        let waits: Vec<Duration> = (0..200).map(|_| jittered(whole)).collect();
        assert!(waits.iter().all(|wait| *wait >= whole / 2 && *wait <= whole), "{waits:?}");
        assert!(waits.iter().any(|wait| *wait < whole.mul_f64(0.7)));
        assert!(waits.iter().any(|wait| *wait > whole.mul_f64(0.8)));
        assert_eq!(jittered(Duration::ZERO), Duration::ZERO);
    }
}
