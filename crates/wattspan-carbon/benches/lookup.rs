//! What a look-up in the bundled tables costs. Aim: 100 ns at most.

use std::hint::black_box;
use std::time::SystemTime;

use criterion::{Criterion, criterion_group, criterion_main};
use wattspan_carbon::{Bundled, Chain, PlaceQuery};
use wattspan_core::IntensitySource;

fn lookups(criterion: &mut Criterion) {
    let at = SystemTime::now();
    let mut group = criterion.benchmark_group("bundled");
    for text in ["FR", "US-CA", "us-east-1", "gcp:europe-north1", "ZW"] {
        let place = PlaceQuery::parse(text).and_then(|query| query.resolve("explicit").strict());
        let place = place.expect("the tables have it");
        group.bench_function(text, |bencher| bencher.iter(|| Bundled::new().latest(black_box(&place), at)));
    }
    let place = PlaceQuery::parse("FR").and_then(|query| query.resolve("explicit").strict());
    let place = place.expect("the tables have it");
    let chain = Chain::new();
    group.bench_function("chain", |bencher| bencher.iter(|| chain.latest(black_box(&place), at)));
    group.finish();
}

criterion_group!(benches, lookups);
criterion_main!(benches);
