//! Sources that answer what they are told to.

use std::collections::HashMap;
use std::sync::Mutex;
use std::time::SystemTime;

use wattspan_core::{ElectricityPrice, Intensity, IntensitySource, Place, PriceSource, TokenPrice};

use super::lock;

/// Answers every place with one intensity, which a test can change on the way.
#[derive(Debug, Default)]
pub struct FakeIntensity {
    held: Mutex<Option<Intensity>>,
}

impl FakeIntensity {
    /// A source that knows this.
    pub fn new(intensity: Intensity) -> Self {
        Self { held: Mutex::new(Some(intensity)) }
    }

    /// From now on it knows this, or nothing.
    pub fn set(&self, intensity: Option<Intensity>) {
        *lock(&self.held) = intensity;
    }
}

impl IntensitySource for FakeIntensity {
    fn name(&self) -> &'static str {
        "fake"
    }

    fn latest(&self, _place: &Place, _at: SystemTime) -> Option<Intensity> {
        lock(&self.held).clone()
    }
}

/// Answers every place with one price of electricity, and the models that it was given.
#[derive(Clone, Debug, Default)]
pub struct FakePrices {
    electricity: Option<ElectricityPrice>,
    tokens: HashMap<(String, String), TokenPrice>,
}

impl FakePrices {
    /// Without any price.
    pub fn new() -> Self {
        Self::default()
    }

    /// With a price of electricity.
    #[must_use]
    pub fn electricity(mut self, price: ElectricityPrice) -> Self {
        self.electricity = Some(price);
        self
    }

    /// With the prices of a model.
    #[must_use]
    pub fn tokens(mut self, provider: &str, model: &str, price: TokenPrice) -> Self {
        self.tokens.insert((provider.to_owned(), model.to_owned()), price);
        self
    }
}

impl PriceSource for FakePrices {
    fn electricity(&self, _place: &Place, _at: SystemTime) -> Option<ElectricityPrice> {
        self.electricity.clone()
    }

    fn tokens(&self, provider: &str, model: &str) -> Option<TokenPrice> {
        self.tokens.get(&(provider.to_owned(), model.to_owned())).cloned()
    }
}
