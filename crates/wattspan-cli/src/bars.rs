//! Bars that show how far something is: on standard error, where that is a terminal and nobody wants quiet.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

fn target(quiet: bool) -> ProgressDrawTarget {
    // It hides by itself where standard error is no terminal.
    if quiet { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr() }
}

fn styled(bar: ProgressBar, template: &str) -> ProgressBar {
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style.progress_chars("█▌ "));
    }
    bar
}

/// So many steps.
pub(crate) fn steps(total: u64, quiet: bool) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(Some(total), target(quiet));
    let bar = styled(bar, "[{bar:30}] {pos}/{len} {elapsed}, {eta} left  {wide_msg}");
    // Its time goes on while a step takes long.
    bar.enable_steady_tick(Duration::from_millis(500));
    bar
}

/// Nobody knows how many steps.
pub(crate) fn spinner(quiet: bool) -> ProgressBar {
    let bar = styled(ProgressBar::with_draw_target(None, target(quiet)), "{spinner} {elapsed}  {wide_msg}");
    bar.enable_steady_tick(Duration::from_millis(200));
    bar
}

/// What was nobody's guess becomes so many bytes.
pub(crate) fn bytes(bar: &ProgressBar, sent: u64, total: u64) {
    if bar.length() != Some(total) {
        bar.set_length(total);
    }
    bar.set_position(sent);
}
