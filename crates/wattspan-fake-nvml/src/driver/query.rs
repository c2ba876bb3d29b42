//! Questions about the truth and about what was asked.

use std::fmt::Write as _;

use super::Driver;

impl Driver {
    /// The answer to a question; numbers are written so that they read back exactly.
    pub(super) fn query(&mut self, question: &str) -> Result<String, String> {
        let now = self.sync();
        let mut words = question.split_whitespace();
        let kind = words.next().unwrap_or_default();
        match kind {
            "version" => return Ok(env!("CARGO_PKG_VERSION").to_owned()),
            "now" => return Ok(now.to_string()),
            "error" => return Ok(self.last_error.clone()),
            "calls" => {
                return Ok(match words.next() {
                    Some(function) => self.calls.get(function).copied().unwrap_or(0).to_string(),
                    None => self.calls.iter().fold(String::new(), |mut text, (function, count)| {
                        // Writing to a string does not fail.
                        let _ = writeln!(text, "{function} {count}");
                        text
                    }),
                });
            }
            _ => {}
        }
        let slot: usize = words.next().and_then(|word| word.parse().ok()).ok_or("which GPU?")?;
        let power = &self.devices.get(slot).ok_or("no such GPU")?.power;
        let mut time = || {
            let word = words.next().ok_or("a time is missing")?;
            if word == "now" { Ok(now) } else { word.parse::<u64>().map_err(|_| "no time") }
        };
        Ok(match kind {
            "joules" => {
                let (from, to) = (time()?, time()?);
                power.joules(from, to).to_string()
            }
            "base_joules" => {
                let (from, to) = (time()?, time()?);
                power.base_joules(from, to).to_string()
            }
            "joules_without_requests" => {
                let (from, to) = (time()?, time()?);
                power.joules_without_requests(from, to).to_string()
            }
            "watts" => power.watts_at(time()?).to_string(),
            "counter" => power.counter_mj_at(time()?).to_string(),
            "request" => {
                let id = words.next().ok_or("which request?")?;
                let truth = power.request(id, now).ok_or("no such request")?;
                let end = truth.end_us.map_or_else(|| "-".to_owned(), |end| end.to_string());
                format!(
                    "{} {end} {} {} {} {} {}",
                    truth.begin_us, truth.joules, truth.in_flight, truth.tail, truth.base_share, truth.shared
                )
            }
            "requests" => power.requests().collect::<Vec<_>>().join("\n"),
            other => return Err(format!("unknown question {other}")),
        })
    }
}
