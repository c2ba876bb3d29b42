//! The control file for a program in another process.

use std::ffi::OsString;
use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant, SystemTime};

/// Environment variable that names the file.
pub(crate) const VARIABLE: &str = "FAKE_NVML_SCRIPT";

/// A look at the file costs more than an answer does, so it is taken this often at most.
const LOOK_EVERY: Duration = Duration::from_millis(2);

/// A file of control lines that may change while the driver runs.
#[derive(Debug)]
pub(crate) struct Script {
    path: PathBuf,
    looked: Option<Instant>,
    seen: Option<(u64, SystemTime)>,
    done: String,
}

impl Script {
    pub(crate) fn new(path: OsString) -> Self {
        Self { path: path.into(), looked: None, seen: None, done: String::new() }
    }

    /// Whole lines that were not there before: the new end of a file that grew, or all of one that was replaced.
    pub(crate) fn news(&mut self) -> Option<String> {
        if self.looked.is_some_and(|looked| looked.elapsed() < LOOK_EVERY) {
            return None;
        }
        self.looked = Some(Instant::now());
        let metadata = fs::metadata(&self.path).ok()?;
        let stamp = (metadata.len(), metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH));
        if self.seen == Some(stamp) {
            return None;
        }
        let mut text = fs::read_to_string(&self.path).ok()?;
        self.seen = Some(stamp);
        // A writer may be in the middle of its last line.
        text.truncate(text.rfind('\n').map_or(0, |end| end + 1));
        let news = text.strip_prefix(&self.done).unwrap_or(&text).to_owned();
        self.done = text;
        if news.is_empty() { None } else { Some(news) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A script that is looked at whenever it is asked.
    fn script(folder: &std::path::Path) -> Script {
        Script::new(folder.join("script").into_os_string())
    }

    #[track_caller]
    fn check(script: &mut Script, news: Option<&str>) {
        script.looked = None;
        assert_eq!(script.news().as_deref(), news);
    }

    #[test]
    fn only_new_whole_lines_are_news() {
        let folder = std::env::temp_dir().join(format!("fake-nvml-script-{}", std::process::id()));
        fs::create_dir_all(&folder).expect("a temporary folder");
        let mut script = script(&folder);
        check(&mut script, None);
        let write = |text: &str| fs::write(folder.join("script"), text).expect("a file that can be written");
        write("gpus 2\ngpu 0 idle");
        check(&mut script, Some("gpus 2\n"));
        check(&mut script, None);
        write("gpus 2\ngpu 0 idle 30\n");
        check(&mut script, Some("gpu 0 idle 30\n"));
        write("gpu 1 idle 7\n");
        check(&mut script, Some("gpu 1 idle 7\n"));
        fs::remove_dir_all(&folder).expect("a folder that can be removed");
    }
}
