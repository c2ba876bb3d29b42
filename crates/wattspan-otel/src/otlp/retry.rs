//! Tries until it worked, was refused, or time is over.

use std::future::Future;
use std::time::{Duration, SystemTime};

use tokio::time::Instant;
use wattspan_core::jittered;

use crate::network::Clock;

/// What came of one try.
#[derive(Debug)]
pub(crate) enum Attempt {
    /// The receiver took it.
    Delivered(Receipt),
    /// It may work later.
    Again {
        /// How long the receiver asked to be left alone.
        after: Option<Duration>,
        why: String,
    },
    /// It will not work.
    Refused(String),
}

/// What the receiver said of a batch that it took.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Receipt {
    /// Items that it refused.
    pub(crate) rejected: usize,
    pub(crate) message: String,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Patience {
    /// For one try.
    pub(crate) timeout: Duration,
    /// For all tries together.
    pub(crate) total: Duration,
}

/// First wait and longest wait of the back-off; the receiver may ask for longer ones.
const FIRST: Duration = Duration::from_millis(250);
const LONGEST: Duration = Duration::from_secs(5);

pub(crate) async fn deliver<F: Future<Output = Attempt>>(
    patience: Patience,
    clock: &Clock,
    mut attempt: impl FnMut() -> F,
) -> Result<Receipt, String> {
    let end = Instant::now() + patience.total;
    let mut backoff = FIRST;
    let mut last = String::from("no time was left");
    loop {
        let now = Instant::now();
        if clock.limit(end) <= now {
            return Err(last);
        }
        let until = end.min(now + patience.timeout);
        let wait = match clock.within(until, attempt()).await {
            Some(Attempt::Delivered(receipt)) => return Ok(receipt),
            Some(Attempt::Refused(why)) => return Err(why),
            Some(Attempt::Again { after, why }) => {
                last = why;
                after.map_or_else(|| jittered(backoff), |asked| asked.max(jittered(backoff)))
            }
            None => {
                last = String::from("no answer in time");
                jittered(backoff)
            }
        };
        tracing::debug!(?wait, "export failed, will be tried again: {last}");
        let wake = Instant::now() + wait;
        if clock.limit(end) <= wake {
            return Err(last);
        }
        clock.sleep_until(wake).await;
        backoff = (backoff * 2).min(LONGEST);
    }
}

/// The value of a `Retry-After` header: seconds, or a date.
pub(crate) fn retry_after(text: &str, now: SystemTime) -> Option<Duration> {
    let text = text.trim();
    if let Ok(seconds) = text.parse() {
        return Some(Duration::from_secs(seconds));
    }
    let date = httpdate::parse_http_date(text).ok()?;
    Some(date.duration_since(now).unwrap_or(Duration::ZERO))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn retry_after_takes_seconds_and_dates() {
        // The date is the example of RFC 9110, section 5.6.7; 784 111 777 s after the epoch.
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(784_111_777 - 30);
        assert_eq!(retry_after("120", now), Some(Duration::from_secs(120)));
        assert_eq!(retry_after("Sun, 06 Nov 1994 08:49:37 GMT", now), Some(Duration::from_secs(30)));
        let later = now + Duration::from_secs(60);
        assert_eq!(retry_after("Sun, 06 Nov 1994 08:49:37 GMT", later), Some(Duration::ZERO));
        for bad in ["", "-1", "soon"] {
            assert_eq!(retry_after(bad, now), None, "{bad:?}");
        }
    }

    #[test]
    fn jitter_stays_between_half_and_all() {
        for _ in 0..200 {
            let wait = jittered(FIRST);
            assert!(wait >= FIRST / 2 && wait <= FIRST, "{wait:?}");
        }
    }
}
