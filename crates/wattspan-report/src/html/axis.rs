//! Ticks and scales, without anything that draws.

/// From nanoseconds since 1970 to a place across the picture. Pauses of the run are cut short, so that what happened is
/// seen.
#[derive(Clone, Debug)]
pub(crate) struct TimeScale {
    /// Begin, end, and the places of the two.
    parts: Vec<(u64, u64, f64, f64)>,
    begin: u64,
}

impl TimeScale {
    /// Over the times in which something happened, in any order, onto `width`.
    pub(crate) fn new(times: impl IntoIterator<Item = (u64, u64)>, width: f64) -> Option<Self> {
        let mut times: Vec<(u64, u64)> = times.into_iter().collect();
        times.sort_unstable();
        let begin = times.first()?.0;
        let active: u64 = times.iter().map(|(begin, end)| end - begin).sum();
        let whole = times.iter().map(|(_, end)| *end).max()?.saturating_sub(begin);
        let pause = LEAST_PAUSE.max(whole / 5).max(active / 10);
        let mut parts: Vec<(u64, u64)> = Vec::new();
        for (begin, end) in times {
            match parts.last_mut() {
                Some(last) if begin.saturating_sub(last.1) < pause => last.1 = last.1.max(end),
                _ => parts.push((begin, end)),
            }
        }
        let cut = parts.len() - 1;
        let length: u64 = parts.iter().map(|(begin, end)| (end - begin).max(1)).sum();
        let free = width - cut as f64 * CUT;
        let mut at = 0.0;
        let parts = parts.into_iter().map(|(begin, end)| {
            let wide = (end - begin).max(1) as f64 / length as f64 * free;
            let part = (begin, end, at, at + wide);
            at += wide + CUT;
            part
        });
        Some(Self { parts: parts.collect(), begin })
    }

    pub(crate) fn place(&self, time: u64) -> f64 {
        let mut place = 0.0;
        for (begin, end, from, to) in &self.parts {
            if time < *begin {
                return place;
            }
            let part = (time.min(*end) - begin) as f64 / (end - begin).max(1) as f64;
            place = from + part * (to - from);
        }
        place
    }

    /// Where pauses were cut out: the place, and how long it was in nanoseconds.
    pub(crate) fn cuts(&self) -> impl Iterator<Item = (f64, u64)> + '_ {
        self.parts.windows(2).map(|pair| (pair[0].3 + CUT / 2.0, pair[1].0 - pair[0].1))
    }

    /// Begin of the run.
    pub(crate) const fn begin(&self) -> u64 {
        self.begin
    }

    /// About so many ticks: place and text, the time since the begin.
    pub(crate) fn ticks(&self, about: usize) -> Vec<(f64, String)> {
        let active: u64 = self.parts.iter().map(|(begin, end, ..)| end - begin).sum();
        let rough = active as f64 / 1e9 / about.max(1) as f64;
        let step =
            STEPS.into_iter().find(|step| *step >= rough).unwrap_or_else(|| (rough / DAY).ceil() * DAY);
        let apart = self.parts.last().map_or(0.0, |last| last.3) / about.max(1) as f64 * 0.4;
        let mut ticks = Vec::new();
        for (begin, end, ..) in &self.parts {
            let since = |time: u64| (time - self.begin) as f64 / 1e9;
            let mut tick = (since(*begin) / step).ceil() * step;
            while tick <= since(*end) + 1e-9 && ticks.len() < 4 * about {
                let time = self.begin.saturating_add((tick * 1e9) as u64);
                let place = self.place(time);
                // Behind a pause that was cut short two ticks may be too close to be read.
                if ticks.last().is_none_or(|(last, _): &(f64, String)| place - last >= apart) {
                    ticks.push((place, clock(tick, step)));
                }
                tick += step;
            }
        }
        ticks
    }
}

/// A time since the begin as a stopwatch shows it.
pub(crate) fn clock(seconds: f64, step: f64) -> String {
    if step < 1.0 {
        return format!("{seconds:.1} s");
    }
    let whole = seconds.round() as u64;
    let (hours, minutes, seconds) = (whole / 3_600, whole / 60 % 60, whole % 60);
    if hours > 0 { format!("{hours}:{minutes:02}:{seconds:02}") } else { format!("{minutes}:{seconds:02}") }
}

/// A scale from 0 to somewhat above the largest value, with round ticks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scale {
    pub(crate) top: f64,
    pub(crate) step: f64,
}

impl Scale {
    pub(crate) fn new(largest: f64, about: usize) -> Self {
        let largest = if largest.is_finite() && largest > 0.0 { largest } else { 1.0 };
        let step = round_step(largest / about.max(1) as f64);
        Self { top: (largest / step).ceil() * step, step }
    }

    /// All ticks but 0.
    pub(crate) fn ticks(self) -> impl Iterator<Item = f64> {
        let count = (self.top / self.step).round() as u32;
        (1..=count).map(move |index| f64::from(index) * self.step)
    }
}

/// The next larger of 1, 2, 2.5, 5 times a power of ten.
pub(crate) fn round_step(rough: f64) -> f64 {
    let power = 10_f64.powf(rough.log10().floor());
    let round = [1.0, 2.0, 2.5, 5.0, 10.0].into_iter().find(|round| round * power >= rough * 0.999);
    round.unwrap_or(10.0) * power
}

/// A number for a path: a tenth of a unit is less than anybody sees.
pub(crate) fn at(place: f64) -> String {
    let text = format!("{place:.1}");
    text.strip_suffix(".0").map(str::to_owned).unwrap_or(text)
}

/// Width of a pause that was cut out.
const CUT: f64 = 18.0;
/// A minute: shorter pauses stay as long as they are.
const LEAST_PAUSE: u64 = 60_000_000_000;
const DAY: f64 = 86_400.0;
const STEPS: [f64; 19] = [
    0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 15.0, 30.0, 60.0, 120.0, 300.0, 600.0, 900.0, 1_800.0, 3_600.0,
    10_800.0, 21_600.0, 86_400.0,
];

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    #[test]
    fn a_long_pause_is_cut_short_and_order_stays() {
        let times = [(0, 100 * SECOND), (10_000 * SECOND, 10_100 * SECOND)];
        let scale = TimeScale::new(times, 700.0).unwrap();
        assert_eq!(scale.cuts().count(), 1);
        assert_eq!(scale.cuts().next().unwrap().1, 9_900 * SECOND);
        assert!((scale.place(50 * SECOND) - 170.5).abs() < 0.1);
        assert!((scale.place(10_100 * SECOND) - 700.0).abs() < 1e-6);
        // What lies in the pause stands at its edge.
        assert!((scale.place(5_000 * SECOND) - 341.0).abs() < 1e-6);
    }

    #[test]
    fn ticks_are_round() {
        let scale = TimeScale::new([(7, 7 + 290 * SECOND)], 600.0).unwrap();
        let texts: Vec<String> = scale.ticks(5).into_iter().map(|(_, text)| text).collect();
        assert_eq!(texts, ["0:00", "1:00", "2:00", "3:00", "4:00"]);
        assert_eq!(clock(3_725.0, 60.0), "1:02:05");
        assert_eq!(clock(0.2, 0.1), "0.2 s");
        let ticks: Vec<f64> = Scale::new(340.0, 4).ticks().collect();
        assert_eq!(ticks, [100.0, 200.0, 300.0, 400.0]);
        assert_eq!(Scale::new(0.0, 4).top, 1.0);
    }
}
