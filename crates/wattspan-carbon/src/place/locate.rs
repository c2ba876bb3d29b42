//! Where this machine is: what the user says, then the environment, then the cloud's metadata service, then the
//! Kubernetes node's labels, then a guess.

use std::path::{Path, PathBuf};
use std::time::Duration;

use wattspan_core::Place;

use crate::Error;
use crate::cloud::{CloudFacts, Metadata};
use crate::place::labels::{LABELS, NodeLabels};
use crate::place::{PlaceQuery, guess};

type Lookup = Box<dyn Fn(&str) -> Option<String> + Send + Sync>;

/// Finds this machine's place.
///
/// The first of these that says anything decides: [`Locator::explicit`]; variables (`WATTSPAN_…`, see
/// [`PlaceQuery::from_variables`]); the cloud's metadata service, asked only on a machine whose firmware names a cloud;
/// in a Kubernetes pod, the node's labels as far as the pod carries them; the time zone or locale as a labelled guess. Something said and not understood is an error in the answer, and no
/// later step takes its place: a typing error never becomes another country.
///
/// Nothing leaves the machine, unless a GeoIP service is given (feature `live`); the metadata service is on the
/// machine's own link.
///
/// ```
/// use wattspan_carbon::{Locator, PlaceQuery};
///
/// let mut wanted = PlaceQuery::new();
/// wanted.country = Some("Sweden".to_owned());
/// let located = Locator::new().explicit(wanted).locate();
/// assert_eq!(located.place.country.as_deref(), Some("SE"));
/// assert_eq!(located.place.basis.as_deref(), Some("explicit"));
/// ```
pub struct Locator {
    explicit: PlaceQuery,
    lookup: Lookup,
    root: PathBuf,
    metadata: Option<Metadata>,
    pod_labels: Option<PathBuf>,
    guess: bool,
    #[cfg(feature = "live")]
    geoip: Option<crate::GeoIp>,
}

/// Where a machine is, and what was learned on the way.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct Located {
    /// The place; empty when nothing is known.
    pub place: Place,
    /// The cloud machine it is, when its metadata service answered, or the labels of its node say so.
    pub cloud: Option<CloudFacts>,
    /// What was ignored, and why.
    pub notes: Vec<String>,
    /// What was said and not understood.
    pub errors: Vec<Error>,
}

impl Locator {
    /// Looks at the process's environment and the machine's files.
    pub fn new() -> Self {
        Self {
            explicit: PlaceQuery::default(),
            lookup: Box::new(|name| std::env::var(name).ok()),
            root: PathBuf::from("/"),
            metadata: Some(Metadata::default()),
            pod_labels: None,
            guess: true,
            #[cfg(feature = "live")]
            geoip: None,
        }
    }

    /// Takes the user's word for it.
    pub fn explicit(mut self, query: PlaceQuery) -> Self {
        self.explicit = query;
        self
    }

    /// Reads variables from somewhere else than the process's environment.
    pub fn variables(mut self, lookup: impl Fn(&str) -> Option<String> + Send + Sync + 'static) -> Self {
        self.lookup = Box::new(lookup);
        self
    }

    /// Reads files below another folder than `/`.
    pub fn root(mut self, root: impl Into<PathBuf>) -> Self {
        self.root = root.into();
        self
    }

    /// Asks metadata services in another way; `None` never asks them.
    pub fn metadata(mut self, metadata: Option<Metadata>) -> Self {
        self.metadata = metadata;
        self
    }

    /// Reads the pod's labels from another file than `/etc/podinfo/labels`, where a volume of the downward API has them.
    /// `topology.kubernetes.io/region`, `topology.kubernetes.io/zone` and `node.kubernetes.io/instance-type` are looked at.
    pub fn pod_labels(mut self, path: impl Into<PathBuf>) -> Self {
        self.pod_labels = Some(path.into());
        self
    }

    /// Whether a time zone or locale may stand in; on if never called.
    pub fn guess(mut self, allowed: bool) -> Self {
        self.guess = allowed;
        self
    }

    /// Asks a GeoIP service where nothing better is known, before guessing. Off unless called.
    #[cfg(feature = "live")]
    pub fn geoip(mut self, service: crate::GeoIp) -> Self {
        self.geoip = Some(service);
        self
    }

    /// Finds the place. Blocks for the metadata probe's time limit at most, and only on a cloud machine; and for that
    /// of the GeoIP service, if one is given.
    pub fn locate(&self) -> Located {
        let mut out = Located::default();
        if settle(&self.explicit, "explicit", &mut out) {
            return out;
        }
        match PlaceQuery::from_variables(&self.lookup) {
            Ok(query) => {
                if settle(&query, "environment", &mut out) {
                    return out;
                }
            }
            Err(error) => {
                out.errors.push(error);
                return out;
            }
        }
        let labels = NodeLabels::read(self.pod_labels.as_deref().unwrap_or(&self.root.join(LABELS)));
        if self.cloud(&mut out) {
            if let Some(facts) = &mut out.cloud {
                labels.complete(facts);
            }
            return out;
        }
        if node(&labels, &mut out) {
            return out;
        }
        #[cfg(feature = "live")]
        match self.geoip.as_ref().map(crate::GeoIp::locate) {
            Some(Ok(place)) => {
                out.place = place;
                return out;
            }
            Some(Err(error)) => out.errors.push(error),
            None => {}
        }
        if !self.guess {
            return out;
        }
        let guesses = [
            (guess::time_zone_country(&self.root, &self.lookup), "time zone (guess)"),
            (guess::locale_country(&self.lookup), "locale (guess)"),
        ];
        for (found, basis) in guesses {
            let Some((country, from)) = found else { continue };
            let resolved = PlaceQuery { country: Some(country), ..PlaceQuery::default() }.resolve(basis);
            // A code that the tables lack is no mistake of the user's.
            if resolved.errors.is_empty() {
                out.notes.push(format!("the country is guessed from {from}"));
                out.place = resolved.place;
                return out;
            }
        }
        out
    }

    fn cloud(&self, out: &mut Located) -> bool {
        let Some(metadata) = &self.metadata else { return false };
        let Some(found) = metadata.probe(&self.root, &self.lookup) else { return false };
        out.notes.extend(found.notes);
        let Some(facts) = found.facts else { return false };
        let mut query = PlaceQuery::new();
        query.cloud_provider = Some(facts.provider.to_owned());
        query.cloud_region.clone_from(&facts.region);
        let resolved = query.resolve("cloud metadata");
        // A region that is newer than the tables is no mistake of the user's; the provider's word for it is kept.
        out.notes.extend(resolved.errors.iter().map(ToString::to_string));
        out.place = resolved.place;
        if out.place.cloud_region.is_none() {
            out.place.cloud_region = facts.region.as_deref().map(Into::into);
        }
        out.cloud = Some(facts);
        true
    }
}

impl Default for Locator {
    fn default() -> Self {
        Self::new()
    }
}

impl std::fmt::Debug for Locator {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let root: &Path = &self.root;
        out.debug_struct("Locator")
            .field("explicit", &self.explicit)
            .field("root", &root)
            .field("metadata", &self.metadata)
            .field("pod_labels", &self.pod_labels)
            .field("guess", &self.guess)
            .finish_non_exhaustive()
    }
}

/// Takes the word of the node's labels. Whether they name a region: one that is not known is no other place.
fn node(labels: &NodeLabels, out: &mut Located) -> bool {
    match labels.facts() {
        None => false,
        Some(Err(error)) => {
            out.notes
                .push(format!("the node's labels name no region of a cloud: {error}; set WATTSPAN_COUNTRY"));
            true
        }
        Some(Ok(facts)) => {
            let mut query = PlaceQuery::new();
            query.cloud_provider = Some(facts.provider.to_owned());
            query.cloud_region.clone_from(&facts.region);
            out.place = query.resolve("node labels").place;
            out.cloud = Some(facts);
            true
        }
    }
}

/// Takes a query's word if it says anything. Whether it did.
fn settle(query: &PlaceQuery, basis: &str, out: &mut Located) -> bool {
    if query.is_empty() {
        if let Some(provider) = &query.cloud_provider {
            out.notes
                .push(format!("cloud provider {provider:?} is ignored: a region must be given beside it"));
        }
        return false;
    }
    let resolved = query.resolve(basis);
    out.place = resolved.place;
    out.notes.extend(resolved.notes);
    out.errors.extend(resolved.errors);
    true
}

/// How long a whole metadata probe may take.
pub(crate) const METADATA_TIME: Duration = Duration::from_secs(1);
