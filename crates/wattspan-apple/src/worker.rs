//! Threads that wait for a source, and what they send.

use std::io::{ErrorKind, Read};
use std::process::Child;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;
use std::time::Instant;

use crate::powermetrics::{Format, Splitter, powermetrics_plist, powermetrics_text};
use crate::snapshot::Snapshot;

/// The name of a chip that the source does not tell.
pub(crate) const UNNAMED_CHIP: &str = "Apple";

/// What a worker sends.
#[derive(Clone, Debug)]
pub(crate) enum Message {
    /// An interval, and when it ended.
    Interval { snapshot: Box<Snapshot>, at: Instant },
    /// The source failed; the worker tries again.
    Trouble(String),
    /// The worker has stopped for good.
    Ended(String),
}

/// Holds a worker. Its thread ends by itself: its next message finds nobody there, and a child's output ends.
#[derive(Debug, Default)]
pub(crate) struct Worker {
    child: Option<Child>,
}

impl Worker {
    /// A worker whose child is ended with it.
    #[cfg_attr(not(target_os = "macos"), allow(dead_code))]
    pub(crate) fn with_child(child: Child) -> Self {
        Self { child: Some(child) }
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        if let Some(child) = &mut self.child {
            // A child that has ended by itself cannot be killed, and need not be.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Messages that wait for the sampler. A full queue stops the worker, whose next interval is then longer: no energy is
/// lost, and no memory is taken when nobody samples.
const QUEUE: usize = 256;

pub(crate) fn queue() -> (SyncSender<Message>, Receiver<Message>) {
    sync_channel(QUEUE)
}

/// Reads reports of powermetrics from a stream, on a thread.
pub(crate) fn read(stream: impl Read + Send + 'static) -> (Worker, Receiver<Message>) {
    let (sender, messages) = queue();
    let name = "wattspan-powermetrics".to_owned();
    let spawned = thread::Builder::new().name(name).spawn({
        let sender = sender.clone();
        move || pump(stream, &sender)
    });
    if let Err(error) = spawned {
        // The queue is new and has room.
        let _ = sender.try_send(Message::Ended(format!("no thread could be started: {error}")));
    }
    (Worker::default(), messages)
}

/// Reads until the stream ends or nobody listens.
fn pump(mut stream: impl Read, sender: &SyncSender<Message>) {
    let mut splitter = Splitter::default();
    let mut buffer = vec![0; 64 << 10];
    let reason = loop {
        match stream.read(&mut buffer) {
            Ok(0) => break "powermetrics has ended".to_owned(),
            Ok(count) => {
                for (format, report, at) in splitter.push(&buffer[..count], Instant::now()) {
                    if sender.send(message(format, &report, at)).is_err() {
                        return;
                    }
                }
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => break format!("the output of powermetrics cannot be read: {error}"),
        }
    };
    if let Some((format, report, at)) = splitter.finish()
        && sender.send(message(format, &report, at)).is_err()
    {
        return;
    }
    // Nobody may be left to hear it.
    let _ = sender.send(Message::Ended(reason));
}

fn message(format: Format, report: &str, at: Instant) -> Message {
    let read = match format {
        Format::Plist => powermetrics_plist(report),
        Format::Text => powermetrics_text(report),
    };
    match read {
        Ok(snapshot) => Message::Interval { snapshot: Box::new(snapshot), at },
        Err(error) => Message::Trouble(error.to_string()),
    }
}
