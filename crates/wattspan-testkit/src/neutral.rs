//! What the OpenTelemetry SDK exported, in the neutral form that the conformance checker takes.
//!
//! A value that no attribute of wattspan has (a list of numbers, say) is a mistake of the code under test, and a panic.

use opentelemetry::logs::AnyValue;
use opentelemetry::trace::{SpanKind, Status};
use opentelemetry::{Array, KeyValue, Value};
use opentelemetry_sdk::logs::SdkLogRecord;
use opentelemetry_sdk::metrics::data::{self, AggregatedMetrics, HistogramDataPoint, MetricData};
use opentelemetry_sdk::trace::SpanData;
use wattspan_semconv::conformance::{self, Attributes, Event, Metric, Span};
use wattspan_semconv::{Instrument, ValueType};

/// A span, with its events.
pub fn span(data: &SpanData) -> Span {
    Span {
        name: data.name.to_string(),
        kind: match data.span_kind {
            SpanKind::Internal => wattspan_semconv::SpanKind::Internal,
            SpanKind::Client => wattspan_semconv::SpanKind::Client,
            SpanKind::Server => wattspan_semconv::SpanKind::Server,
            SpanKind::Producer => wattspan_semconv::SpanKind::Producer,
            SpanKind::Consumer => wattspan_semconv::SpanKind::Consumer,
        },
        status: match data.status {
            Status::Unset => conformance::Status::Unset,
            Status::Ok => conformance::Status::Ok,
            Status::Error { .. } => conformance::Status::Error,
        },
        attributes: attributes(&data.attributes),
        events: data
            .events
            .iter()
            .map(|event| Event {
                name: event.name.to_string(),
                severity: None,
                attributes: attributes(&event.attributes),
            })
            .collect(),
    }
}

/// A log record: one of the GenAI events.
pub fn log(record: &SdkLogRecord) -> Event {
    Event {
        name: record.event_name().unwrap_or_default().to_owned(),
        severity: record.severity_number().map(|severity| severity as u8),
        attributes: record
            .attributes_iter()
            .map(|(key, value)| (key.as_str().to_owned(), any(value)))
            .collect(),
    }
}

/// A metric with the attributes of its points.
pub fn metric(metric: &data::Metric) -> Metric {
    let (value_type, (instrument, buckets, points)) = match metric.data() {
        AggregatedMetrics::F64(data) => (ValueType::Double, shape(data)),
        AggregatedMetrics::U64(data) => (ValueType::Int, shape(data)),
        AggregatedMetrics::I64(data) => (ValueType::Int, shape(data)),
    };
    Metric {
        name: metric.name().to_owned(),
        unit: metric.unit().to_owned(),
        instrument,
        value_type: Some(value_type),
        buckets,
        points,
    }
}

/// Attributes of a span, an event or a point.
pub fn attributes<'a>(list: impl IntoIterator<Item = &'a KeyValue>) -> Attributes {
    list.into_iter().map(|pair| (pair.key.as_str().to_owned(), value(&pair.value))).collect()
}

fn value(value: &Value) -> conformance::Value {
    match value {
        Value::Bool(value) => (*value).into(),
        Value::I64(value) => (*value).into(),
        Value::F64(value) => (*value).into(),
        Value::String(text) => text.as_str().into(),
        Value::Array(Array::String(texts)) => {
            texts.iter().map(|text| text.as_str().to_owned()).collect::<Vec<_>>().into()
        }
        other => panic!("no attribute of ours is {other:?}"),
    }
}

fn any(value: &AnyValue) -> conformance::Value {
    use conformance::Value as Neutral;
    match value {
        AnyValue::Int(value) => Neutral::Int(*value),
        AnyValue::Double(value) => Neutral::Double(*value),
        AnyValue::String(value) => Neutral::String(value.as_str().to_owned()),
        AnyValue::Boolean(value) => Neutral::Bool(*value),
        AnyValue::Bytes(bytes) => Neutral::Bytes(bytes.to_vec()),
        AnyValue::ListAny(items) => Neutral::Array(items.iter().map(any).collect()),
        AnyValue::Map(fields) => {
            Neutral::Map(fields.iter().map(|(key, value)| (key.as_str().to_owned(), any(value))).collect())
        }
        other => panic!("no field of ours is {other:?}"),
    }
}

type Shape = (Instrument, Option<Vec<f64>>, Vec<Attributes>);

fn shape<T: Copy>(data: &MetricData<T>) -> Shape {
    match data {
        MetricData::Gauge(gauge) => {
            let points = gauge.data_points().map(|point| attributes(point.attributes()));
            (Instrument::Gauge, None, points.collect())
        }
        MetricData::Sum(sum) => {
            let instrument = if sum.is_monotonic() { Instrument::Counter } else { Instrument::UpDownCounter };
            let points = sum.data_points().map(|point| attributes(point.attributes()));
            (instrument, None, points.collect())
        }
        MetricData::Histogram(histogram) => {
            let bounds = |point: &HistogramDataPoint<T>| point.bounds().collect();
            let buckets = histogram.data_points().next().map(bounds);
            let points = histogram.data_points().map(|point| attributes(point.attributes()));
            (Instrument::Histogram, buckets, points.collect())
        }
        MetricData::ExponentialHistogram(_) => panic!("buckets of ours are explicit"),
    }
}
