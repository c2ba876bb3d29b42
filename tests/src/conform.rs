//! From OTLP's messages to the neutral form that the conformance checker takes.

use opentelemetry_proto::tonic::common::v1::any_value::Value as OtlpValue;
use opentelemetry_proto::tonic::common::v1::{AnyValue, KeyValue};
use opentelemetry_proto::tonic::metrics::v1::metric::Data;
use opentelemetry_proto::tonic::metrics::v1::number_data_point::Value as Number;
use opentelemetry_proto::tonic::metrics::v1::{Metric as OtlpMetric, NumberDataPoint};
use opentelemetry_proto::tonic::trace::v1::span::SpanKind as OtlpKind;
use opentelemetry_proto::tonic::trace::v1::status::StatusCode;
use opentelemetry_proto::tonic::trace::v1::{Span as OtlpSpan, Status as OtlpStatus};
use wattspan_semconv::conformance::{Attributes, Event, Metric, Span, Status, Telemetry, Value, check};
use wattspan_semconv::{Instrument, Profile, SpanKind, ValueType};

/// Every violation of a profile in what was received, as text.
pub fn violations(profile: Profile, spans: &[OtlpSpan], metrics: &[OtlpMetric]) -> Vec<String> {
    let telemetry = Telemetry {
        spans: spans.iter().map(span).collect(),
        metrics: metrics.iter().filter_map(metric).collect(),
        ..Telemetry::default()
    };
    check(profile, &telemetry).iter().map(ToString::to_string).collect()
}

fn span(span: &OtlpSpan) -> Span {
    let kind = match span.kind() {
        OtlpKind::Client => SpanKind::Client,
        OtlpKind::Server => SpanKind::Server,
        OtlpKind::Producer => SpanKind::Producer,
        OtlpKind::Consumer => SpanKind::Consumer,
        OtlpKind::Internal | OtlpKind::Unspecified => SpanKind::Internal,
    };
    let code = span.status.as_ref().map_or(StatusCode::Unset, OtlpStatus::code);
    let status = match code {
        StatusCode::Unset => Status::Unset,
        StatusCode::Ok => Status::Ok,
        StatusCode::Error => Status::Error,
    };
    let events = span.events.iter().map(|event| Event {
        name: event.name.clone(),
        severity: None,
        attributes: attributes(&event.attributes),
    });
    Span {
        name: span.name.clone(),
        kind,
        status,
        attributes: attributes(&span.attributes),
        events: events.collect(),
    }
}

/// `None` for a metric without data.
fn metric(metric: &OtlpMetric) -> Option<Metric> {
    let numbers = |points: &[NumberDataPoint]| {
        let kind = points.first().and_then(|point| point.value).map(|value| match value {
            Number::AsInt(_) => ValueType::Int,
            Number::AsDouble(_) => ValueType::Double,
        });
        let points: Vec<Attributes> = points.iter().map(|point| attributes(&point.attributes)).collect();
        (kind, points)
    };
    let (instrument, buckets, (value_type, points)) = match metric.data.as_ref()? {
        Data::Gauge(gauge) => (Instrument::Gauge, None, numbers(&gauge.data_points)),
        Data::Sum(sum) if sum.is_monotonic => (Instrument::Counter, None, numbers(&sum.data_points)),
        Data::Sum(sum) => (Instrument::UpDownCounter, None, numbers(&sum.data_points)),
        Data::Histogram(histogram) => {
            let points = &histogram.data_points;
            let buckets = points.first().map(|point| point.explicit_bounds.clone());
            // The wire does not tell whether the numbers were whole.
            let points = points.iter().map(|point| attributes(&point.attributes)).collect();
            (Instrument::Histogram, buckets, (None, points))
        }
        Data::ExponentialHistogram(_) | Data::Summary(_) => return None,
    };
    Some(Metric {
        name: metric.name.clone(),
        unit: metric.unit.clone(),
        instrument,
        value_type,
        buckets,
        points,
    })
}

fn attributes(pairs: &[KeyValue]) -> Attributes {
    pairs.iter().map(|pair| (pair.key.clone(), pair.value.as_ref().map_or(Value::Empty, value))).collect()
}

fn value(any: &AnyValue) -> Value {
    match &any.value {
        Some(OtlpValue::StringValue(text)) => Value::String(text.clone()),
        Some(OtlpValue::BoolValue(value)) => Value::Bool(*value),
        Some(OtlpValue::IntValue(value)) => Value::Int(*value),
        Some(OtlpValue::DoubleValue(value)) => Value::Double(*value),
        Some(OtlpValue::ArrayValue(items)) => Value::Array(items.values.iter().map(value).collect()),
        Some(OtlpValue::KvlistValue(map)) => Value::Map(attributes(&map.values)),
        Some(OtlpValue::BytesValue(bytes)) => Value::Bytes(bytes.clone()),
        _ => Value::Empty,
    }
}
