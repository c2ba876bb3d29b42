//! Options of `wattspan validate`.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use wattspan::core::Ratio;
use wattspan::monitor::validate::ValidateOptions;

use crate::settings::{SettingArgs, duration, share};

#[derive(Args, Debug)]
pub(crate) struct ValidateArgs {
    #[command(flatten)]
    pub(crate) settings: SettingArgs,
    /// A command that keeps the devices busy; it gets a level from 0 to 1 on each line of its standard input
    #[arg(long, value_name = "COMMAND")]
    pub(crate) load: Option<String>,
    /// What a meter at the wall recorded meanwhile: lines of unix seconds and watts, at least one a second
    #[arg(long, value_name = "CSV")]
    pub(crate) meter: Option<PathBuf>,
    /// Take the findings of an earlier run instead of measuring, to add a meter's recording
    #[arg(long, value_name = "FILE", conflicts_with_all = ["load", "quick", "collector"])]
    pub(crate) from: Option<PathBuf>,
    /// Whose devices: nvidia, amd, apple or host [default: GPUs with a sensor, else whatever has one]
    #[arg(long, value_name = "NAME")]
    pub(crate) collector: Option<String>,
    /// Write the findings as JSON into a file too, such as validation.json
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Print JSON instead of a table
    #[arg(long)]
    pub(crate) json: bool,
    /// Do not say what is going on
    #[arg(long, short)]
    pub(crate) quiet: bool,
    /// Take a third of the time, for a first look
    #[arg(long)]
    pub(crate) quick: bool,
    /// Time of the fast polling [default: 20s]
    #[arg(long, value_name = "TIME", value_parser = duration, hide_short_help = true)]
    pub(crate) explore: Option<Duration>,
    /// Time of each steady load [default: 20s]
    #[arg(long, value_name = "TIME", value_parser = duration, hide_short_help = true)]
    pub(crate) plateau: Option<Duration>,
    /// Levels of the steady loads, with commas between them [default: 0,0.25,0.5,0.75,1]
    #[arg(long, value_name = "LEVELS", value_delimiter = ',', value_parser = share, hide_short_help = true)]
    pub(crate) levels: Vec<Ratio>,
    /// Time of each square load [default: 8s]
    #[arg(long, value_name = "TIME", value_parser = duration, hide_short_help = true)]
    pub(crate) square: Option<Duration>,
    /// Periods of the square loads, with commas between them [default: 20ms,50ms,100ms,200ms,500ms,1s]
    #[arg(long, value_name = "TIMES", value_delimiter = ',', value_parser = duration, hide_short_help = true)]
    pub(crate) periods: Vec<Duration>,
    /// Time that a new level settles in [default: 1500ms]
    #[arg(long, value_name = "TIME", value_parser = duration, hide_short_help = true)]
    pub(crate) settle: Option<Duration>,
}

impl ValidateArgs {
    /// How long each part takes.
    pub(super) fn options(&self) -> ValidateOptions {
        let mut options = ValidateOptions::default();
        if self.quick {
            (options.explore, options.plateau, options.square) =
                (options.explore / 2, options.plateau / 4, options.square / 3);
        }
        options.explore = self.explore.unwrap_or(options.explore);
        options.plateau = self.plateau.unwrap_or(options.plateau);
        options.square = self.square.unwrap_or(options.square);
        options.settle = self.settle.unwrap_or(options.settle);
        if !self.levels.is_empty() {
            options.levels.clone_from(&self.levels);
        }
        if !self.periods.is_empty() {
            options.periods.clone_from(&self.periods);
        }
        options
    }
}
