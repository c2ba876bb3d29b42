//! A tape's text to its events.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use serde::de::DeserializeOwned;
use wattspan_core::{
    Begin, Device, DeviceId, DeviceSample, Facts, InferenceId, Locality, MonoTime, Workload,
};

use super::wire::{
    BeginLine, DecodedLine, DeviceLine, FinishLine, GiveUpLine, Header, KINDS, Kind, LocalityWord,
    ProcessLine, PromptedLine, SampleLine, ScopeWord, WallStepLine,
};
use super::{Event, Tape, TapeError, VERSION};

pub(super) fn read(text: &str) -> Result<Tape, TapeError> {
    let mut lines = text.lines().enumerate().map(|(index, line)| Line { number: index + 1, text: line });
    let mut lines = lines.by_ref().filter(|line| !line.text.trim().is_empty());
    let header = r#"a tape begins with its header, {"wattspan_tape":1,"wall_unix_ms":…}"#;
    let first = lines.next().ok_or_else(|| Line { number: 1, text: "" }.at(1, header.to_owned()))?;
    let head: Header =
        first.json().map_err(|error| first.at(error.column(), format!("{}: {header}", message(&error))))?;
    if head.wattspan_tape != VERSION {
        let found = head.wattspan_tape;
        return Err(first.wrong(
            "\"wattspan_tape\"",
            format!("version {found} is not known: this reads version {VERSION}"),
        ));
    }
    let wall = SystemTime::UNIX_EPOCH
        .checked_add(Duration::from_millis(head.wall_unix_ms))
        .ok_or_else(|| first.wrong("\"wall_unix_ms\"", "no clock shows that time".to_owned()))?;
    let mut reader = Reader { wall, devices: HashMap::new(), open: HashSet::new(), known: HashSet::new() };
    let events = lines.map(|line| reader.event(&line)).collect::<Result<_, _>>()?;
    Ok(Tape { wall, note: head.note, events })
}

struct Line<'a> {
    number: usize,
    text: &'a str,
}

impl Line<'_> {
    fn json<T: DeserializeOwned>(&self) -> Result<T, serde_json::Error> {
        serde_json::from_str(self.text)
    }

    fn parse<T: DeserializeOwned>(&self) -> Result<T, TapeError> {
        self.json().map_err(|error| self.at(error.column(), message(&error)))
    }

    fn at(&self, column: usize, reason: String) -> TapeError {
        TapeError::Line { line: self.number, column: column.max(1), reason }
    }

    /// An error at the place of a key or value that is valid JSON and wrong here.
    fn wrong(&self, text: &str, reason: String) -> TapeError {
        let byte = self.text.find(text).unwrap_or(0);
        self.at(self.text[..byte].chars().count() + 1, reason)
    }
}

/// Without serde_json's own place, which is that of a text of one line.
fn message(error: &serde_json::Error) -> String {
    let text = error.to_string();
    text.rsplit_once(" at line ").map_or(text.clone(), |(message, _)| message.to_owned())
}

struct Reader {
    wall: SystemTime,
    devices: HashMap<DeviceId, Arc<Device>>,
    /// Inferences that have begun and not ended.
    open: HashSet<u64>,
    /// All inferences.
    known: HashSet<u64>,
}

impl Reader {
    fn event(&mut self, line: &Line<'_>) -> Result<Event, TapeError> {
        let kind: Kind = line.parse()?;
        let time = MonoTime::from_nanos;
        Ok(match kind.event.as_str() {
            DeviceLine::KIND => self.device(line)?,
            SampleLine::KIND => self.sample(line)?,
            BeginLine::KIND => self.begin(line)?,
            PromptedLine::KIND => {
                let mark: PromptedLine = line.parse()?;
                let inference = self.of_known(line, mark.inference)?;
                Event::Prompted { time: time(mark.t_ns), inference, tokens: mark.tokens }
            }
            DecodedLine::KIND => {
                let mark: DecodedLine = line.parse()?;
                let inference = self.of_known(line, mark.inference)?;
                Event::Decoded { time: time(mark.t_ns), inference, steps: mark.steps }
            }
            FinishLine::KIND => self.finish(line)?,
            GiveUpLine::KIND => {
                let end: GiveUpLine = line.parse()?;
                Event::GiveUp { time: time(end.t_ns), inference: self.end(line, end.inference)? }
            }
            WallStepLine::KIND => {
                let step: WallStepLine = line.parse()?;
                Event::WallStep { time: time(step.t_ns), seconds: step.seconds }
            }
            other => {
                let reason = format!("{other:?} is no event; there are: {}", KINDS.join(", "));
                return Err(line.wrong("\"event\"", reason));
            }
        })
    }

    fn device(&mut self, line: &Line<'_>) -> Result<Event, TapeError> {
        let device = line.parse::<DeviceLine>()?.device;
        if self.devices.insert(device.id.clone(), Arc::clone(&device)).is_some() {
            return Err(line.wrong("\"id\"", format!("device {:?} is here already", device.id.as_str())));
        }
        Ok(Event::Device(device))
    }

    fn sample(&self, line: &Line<'_>) -> Result<Event, TapeError> {
        let read: SampleLine = line.parse()?;
        let device = self.devices.get(&read.device).ok_or_else(|| {
            let reason = format!("no line before names the device {:?}", read.device.as_str());
            line.wrong("\"device\"", reason)
        })?;
        let mut sample = DeviceSample::new(Arc::clone(device), MonoTime::from_nanos(read.t_ns));
        sample.energy = read.energy.0;
        sample.power = read.power_watts.0;
        sample.gauges = read.gauges.gauges();
        sample.processes = read.processes.0.map(|list| list.into_iter().map(ProcessLine::process).collect());
        Ok(Event::Sample(sample))
    }

    fn begin(&mut self, line: &Line<'_>) -> Result<Event, TapeError> {
        let read: BeginLine = line.parse()?;
        if !self.known.insert(read.inference) {
            return Err(
                line.wrong("\"inference\"", format!("inference {} has begun already", read.inference))
            );
        }
        self.open.insert(read.inference);
        let time = MonoTime::from_nanos(read.t_ns);
        let wall = self.wall.checked_add(Duration::from_nanos(read.t_ns)).unwrap_or(self.wall);
        let mut begin = Begin::new(time, wall, read.operation, read.provider);
        begin.model = read.model.map(Into::into);
        begin.workload = read.workload.unwrap_or(Workload::Generation);
        begin.locality = read.locality.map_or(Locality::InProcess, LocalityWord::locality);
        begin.devices = read.devices.map(ScopeWord::scope).unwrap_or_default();
        Ok(Event::Begin { inference: InferenceId::new(read.inference), begin })
    }

    fn finish(&mut self, line: &Line<'_>) -> Result<Event, TapeError> {
        let read: FinishLine = line.parse()?;
        let inference = self.end(line, read.inference)?;
        let mut facts = Facts::default();
        facts.tokens = read.tokens;
        facts.first_token = read.first_token_ns.map(MonoTime::from_nanos);
        facts.finish_reasons = read.finish_reasons;
        facts.response_id = read.response_id;
        facts.response_model = read.response_model;
        facts.error_type = read.error_type.map(Into::into);
        facts.conversation_id = read.conversation_id;
        Ok(Event::Finish { time: MonoTime::from_nanos(read.t_ns), inference, facts, phases: read.phases })
    }

    /// Marks may come late, as those of a program's other threads do.
    fn of_known(&self, line: &Line<'_>, inference: u64) -> Result<InferenceId, TapeError> {
        if self.known.contains(&inference) {
            return Ok(InferenceId::new(inference));
        }
        Err(line.wrong("\"inference\"", format!("no line before begins inference {inference}")))
    }

    fn end(&mut self, line: &Line<'_>, inference: u64) -> Result<InferenceId, TapeError> {
        let id = self.of_known(line, inference)?;
        if self.open.remove(&inference) {
            return Ok(id);
        }
        Err(line.wrong("\"inference\"", format!("inference {inference} has ended already")))
    }
}
