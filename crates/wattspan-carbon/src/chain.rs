//! Several sources in order of trust.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::SystemTime;

use wattspan_core::{Intensity, IntensitySource, Place, Provenance};

use crate::bundled::{Bundled, world_average};

/// Asks its sources in order and takes the best answer: the user's or a live one, else a live source's last good
/// one, else the tables', else the world's average.
///
/// Among answers of the same standing the earlier source wins. Each answer keeps the label of the source that gave
/// it, so a reader can tell a marginal live figure from the average that stood in for it. The world's average is
/// said once to the log.
///
/// ```
/// use std::time::SystemTime;
/// use wattspan_carbon::Chain;
/// use wattspan_core::{IntensitySource, Place, Provenance};
///
/// let answer = Chain::new().latest(&Place::default(), SystemTime::now()).unwrap();
/// assert_eq!(answer.provenance, Provenance::WorldAverage);
/// assert_eq!(answer.zone.as_deref(), Some("WORLD"));
/// ```
pub struct Chain {
    sources: Vec<Arc<dyn IntensitySource>>,
    world: bool,
    warned: AtomicBool,
}

impl Chain {
    /// A chain of the bundled tables and the world's average alone.
    pub fn new() -> Self {
        Self { sources: Vec::new(), world: true, warned: AtomicBool::new(false) }
    }

    /// Puts a source before the tables and after those added earlier.
    pub fn with(mut self, source: Arc<dyn IntensitySource>) -> Self {
        self.sources.push(source);
        self
    }

    /// Answers `None` instead of the world's average where nothing is known.
    pub fn without_world_average(mut self) -> Self {
        self.world = false;
        self
    }
}

impl Default for Chain {
    fn default() -> Self {
        Self::new()
    }
}

impl std::fmt::Debug for Chain {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let names: Vec<_> = self.sources.iter().map(|source| source.name()).collect();
        out.debug_struct("Chain").field("sources", &names).field("world", &self.world).finish_non_exhaustive()
    }
}

impl IntensitySource for Chain {
    fn name(&self) -> &'static str {
        "chain"
    }

    fn latest(&self, place: &Place, at: SystemTime) -> Option<Intensity> {
        let mut best: Option<Intensity> = None;
        for source in &self.sources {
            let Some(answer) = source.latest(place, at) else { continue };
            if rank(answer.provenance) == 0 {
                return Some(answer);
            }
            if best.as_ref().is_none_or(|best| rank(answer.provenance) < rank(best.provenance)) {
                best = Some(answer);
            }
        }
        if best.as_ref().is_some_and(|best| rank(best.provenance) <= rank(Provenance::Bundled)) {
            return best;
        }
        if let Some(answer) = Bundled::new().latest(place, at) {
            return Some(answer);
        }
        if best.is_none() && self.world {
            best = world_average();
        }
        if best.as_ref().is_some_and(|best| best.provenance == Provenance::WorldAverage)
            && !self.warned.swap(true, Ordering::Relaxed)
        {
            tracing::warn!(
                place = ?place,
                "no carbon intensity is known for this place: the world's average stands in; set a country, zone or cloud region"
            );
        }
        best
    }
}

/// Lower is better.
fn rank(provenance: Provenance) -> u8 {
    match provenance {
        Provenance::User | Provenance::Live => 0,
        Provenance::LastGood => 1,
        Provenance::Bundled => 2,
        // Kinds that the contract may add stand with the least known.
        _ => 3,
    }
}
