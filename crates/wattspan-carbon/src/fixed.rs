//! One value that the user gives for every place and time.

use std::sync::Arc;
use std::time::SystemTime;

use wattspan_core::{
    EmissionScope, GramsPerKwh, Intensity, IntensityKind, IntensitySource, Place, Provenance,
};

/// A fixed intensity, labelled as the user's.
///
/// ```
/// use std::time::SystemTime;
/// use wattspan_carbon::Fixed;
/// use wattspan_core::{GramsPerKwh, IntensitySource, Place, Provenance};
///
/// let contract = Fixed::new(GramsPerKwh::whole(35));
/// let answer = contract.latest(&Place::default(), SystemTime::now()).unwrap();
/// assert_eq!((answer.value, answer.provenance), (GramsPerKwh::whole(35), Provenance::User));
/// ```
#[derive(Clone, Debug)]
pub struct Fixed {
    answer: Intensity,
}

impl Fixed {
    /// An average intensity of unknown scope.
    pub fn new(value: GramsPerKwh) -> Self {
        Self { answer: Intensity::new(value, "fixed", Provenance::User) }
    }

    /// Names the source in answers, such as `supplier contract 2026`.
    pub fn source(mut self, name: impl Into<Arc<str>>) -> Self {
        self.answer.source = name.into();
        self
    }

    /// Says what the value is.
    pub fn kind(mut self, kind: IntensityKind) -> Self {
        self.answer.kind = kind;
        self
    }

    /// Says what it counts.
    pub fn scope(mut self, scope: EmissionScope) -> Self {
        self.answer.scope = scope;
        self
    }
}

impl IntensitySource for Fixed {
    fn name(&self) -> &'static str {
        "fixed"
    }

    fn latest(&self, _place: &Place, _at: SystemTime) -> Option<Intensity> {
        Some(self.answer.clone())
    }
}
