//! Runs the tests' evaluation in a process of its own, to be killed: `eval_run URL FOLDER RUN FREEZE_AFTER`. It stops dead
//! when that many attempts are finished.

use wattspan_core::RunId;
use wattspan_tests::EvalRun;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let mut next = || arguments.next().expect("URL FOLDER RUN FREEZE_AFTER");
    let run = EvalRun {
        url: next(),
        folder: next().into(),
        run: RunId::new(next()).expect("a run id"),
        freeze_after: Some(next().parse().expect("a number")),
    };
    run.run();
}
