//! Electricity and token prices from two places, as one source.

use std::sync::Arc;
use std::time::SystemTime;

use wattspan_core::{ElectricityPrice, Place, PriceSource, TokenPrice};
use wattspan_energy::PriceBook;

/// Electricity from one source, tokens from the user's price book.
pub(crate) struct Prices {
    pub(crate) electricity: Option<Arc<dyn PriceSource>>,
    pub(crate) book: Option<PriceBook>,
}

impl PriceSource for Prices {
    fn electricity(&self, place: &Place, at: SystemTime) -> Option<ElectricityPrice> {
        self.electricity.as_ref()?.electricity(place, at)
    }

    fn tokens(&self, provider: &str, model: &str) -> Option<TokenPrice> {
        self.book.as_ref()?.price(provider, model).cloned()
    }
}
