//! A tape's events to its text.

use std::time::SystemTime;

use serde::Serialize;
use wattspan_core::{Begin, DeviceSample, Facts, InferenceId, LatePhases, MonoTime, Workload};

use super::wire::{
    BeginLine, DecodedLine, DeviceLine, FinishLine, GaugeLine, GiveUpLine, Header, LocalityWord, ProcessLine,
    PromptedLine, SampleLine, ScopeWord, WallStepLine, Wire,
};
use super::{Event, Tape, VERSION};

pub(super) fn write(tape: &Tape) -> String {
    let wall = tape.wall.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let header = Header {
        wattspan_tape: VERSION,
        wall_unix_ms: u64::try_from(wall.as_millis()).unwrap_or(u64::MAX),
        note: tape.note.clone(),
    };
    let mut text = line(&header);
    for event in &tape.events {
        text.push_str(&match event {
            Event::Device(device) => {
                line(&DeviceLine { event: DeviceLine::KIND.into(), device: device.clone() })
            }
            Event::Sample(read) => line(&sample(read)),
            Event::Begin { inference, begin: begun } => line(&begin(*inference, begun)),
            Event::Prompted { time, inference, tokens } => line(&PromptedLine {
                event: PromptedLine::KIND.into(),
                t_ns: time.nanos(),
                inference: inference.number(),
                tokens: *tokens,
            }),
            Event::Decoded { time, inference, steps } => line(&DecodedLine {
                event: DecodedLine::KIND.into(),
                t_ns: time.nanos(),
                inference: inference.number(),
                steps: *steps,
            }),
            Event::Finish { time, inference, facts, phases } => {
                line(&finish(*time, *inference, facts, *phases))
            }
            Event::GiveUp { time, inference } => line(&GiveUpLine {
                event: GiveUpLine::KIND.into(),
                t_ns: time.nanos(),
                inference: inference.number(),
            }),
            Event::WallStep { time, seconds } => line(&WallStepLine {
                event: WallStepLine::KIND.into(),
                t_ns: time.nanos(),
                seconds: *seconds,
            }),
        });
    }
    text
}

fn line(value: &impl Serialize) -> String {
    let mut text =
        serde_json::to_string(value).expect("lines have text keys and finite numbers, which JSON can hold");
    text.push('\n');
    text
}

fn sample(sample: &DeviceSample) -> SampleLine {
    SampleLine {
        event: SampleLine::KIND.into(),
        t_ns: sample.time.nanos(),
        device: sample.device.id.clone(),
        energy: Wire(sample.energy.clone()),
        power_watts: Wire(sample.power.clone()),
        gauges: GaugeLine::of(&sample.gauges),
        processes: Wire(sample.processes.clone().map(|list| list.iter().map(ProcessLine::of).collect())),
    }
}

fn begin(inference: InferenceId, begin: &Begin) -> BeginLine {
    BeginLine {
        event: BeginLine::KIND.into(),
        t_ns: begin.time.nanos(),
        inference: inference.number(),
        operation: begin.operation.clone().into_owned(),
        provider: begin.provider.as_ref().to_owned(),
        model: begin.model.as_deref().map(str::to_owned),
        workload: (begin.workload != Workload::Generation).then_some(begin.workload),
        locality: LocalityWord::of(begin.locality),
        devices: ScopeWord::of(&begin.devices),
    }
}

fn finish(time: MonoTime, inference: InferenceId, facts: &Facts, phases: LatePhases) -> FinishLine {
    FinishLine {
        event: FinishLine::KIND.into(),
        t_ns: time.nanos(),
        inference: inference.number(),
        tokens: facts.tokens,
        phases,
        first_token_ns: facts.first_token.map(MonoTime::nanos),
        finish_reasons: facts.finish_reasons.clone(),
        response_id: facts.response_id.clone(),
        response_model: facts.response_model.clone(),
        error_type: facts.error_type.as_ref().map(|kind| kind.clone().into_owned()),
        conversation_id: facts.conversation_id.clone(),
    }
}
