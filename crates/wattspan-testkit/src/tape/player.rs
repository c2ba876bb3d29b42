//! Plays a tape on a scripted clock.

use std::sync::Arc;
use std::time::Duration;

use wattspan_core::{Clock, MonoTime, ScriptedClock};

use super::{Event, Tape};

/// Hands out a tape's events in the order of time, and moves a clock along with them.
#[derive(Debug)]
pub struct Player {
    clock: Arc<ScriptedClock>,
    events: std::iter::Peekable<std::vec::IntoIter<Event>>,
    ticks: Option<Ticks>,
}

#[derive(Debug)]
struct Ticks {
    next: MonoTime,
    period: Duration,
    until: MonoTime,
}

/// What a player hands out.
#[derive(Clone, Debug)]
#[allow(clippy::large_enum_variant)] // Steps are handed out one by one and not kept.
pub enum Step {
    /// Something of the tape.
    Event(Event),
    /// A regular moment, at which a sampler would poll.
    Tick(MonoTime),
}

impl Player {
    /// A player at the tape's begin. Its clock stands at monotonic zero.
    pub fn new(tape: &Tape) -> Self {
        let mut events = tape.events.clone();
        // Stable: events of one time stay in the order of the text. Devices are there from the start.
        events.sort_by_key(Event::time);
        let clock = Arc::new(ScriptedClock::new(tape.wall));
        Self { clock, events: events.into_iter().peekable(), ticks: None }
    }

    /// Also ticks, from zero to the first tick at or after the last event, and on for the time `past` that tick. A tick
    /// comes after the events of its own time. A period of zero never ticks.
    #[must_use]
    pub fn ticking(mut self, period: Duration, past: Duration) -> Self {
        let last = self.events.clone().filter_map(|event| event.time()).max().unwrap_or_default();
        let nanos = u64::try_from(period.as_nanos()).unwrap_or(u64::MAX);
        let covers = last.nanos().div_ceil(nanos.max(1)).saturating_mul(nanos);
        let until = MonoTime::from_nanos(covers) + past;
        self.ticks = (nanos > 0).then_some(Ticks { next: MonoTime::ZERO, period, until });
        self
    }

    /// The clock that it moves.
    pub fn clock(&self) -> Arc<ScriptedClock> {
        Arc::clone(&self.clock)
    }

    /// The next step, with the clock moved to its time; `None` at the end.
    pub fn step(&mut self) -> Option<Step> {
        let tick = self.ticks.as_ref().filter(|ticks| ticks.next <= ticks.until).map(|ticks| ticks.next);
        let event_is_next = match (self.events.peek().map(Event::time), tick) {
            (Some(event), Some(tick)) => event.is_none_or(|time| time <= tick),
            (event, _) => event.is_some(),
        };
        if event_is_next {
            let mut event = self.events.next()?;
            if let Some(time) = event.time() {
                self.clock.advance_to(time);
            }
            match &mut event {
                Event::WallStep { seconds, .. } => self.clock.step_wall(*seconds),
                Event::Begin { begin, .. } => begin.wall = self.clock.wall(),
                _ => {}
            }
            return Some(Step::Event(event));
        }
        let ticks = self.ticks.as_mut()?;
        let now = tick?;
        self.clock.advance_to(now);
        let next = now + ticks.period;
        if next > now {
            ticks.next = next;
        } else {
            // The end of the clock.
            self.ticks = None;
        }
        Some(Step::Tick(now))
    }

    /// Hands all that is left to a handler. Ticks are not handed over: take [`Player::step`] for those.
    pub fn play(mut self, mut handler: impl FnMut(Event)) {
        while let Some(step) = self.step() {
            if let Step::Event(event) = step {
                handler(event);
            }
        }
    }
}
