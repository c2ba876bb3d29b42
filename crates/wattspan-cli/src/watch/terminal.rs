//! The live view in a real terminal: drawing, keys, and leaving it as it was.

use std::io::{self, Stdout};
use std::panic;
use std::sync::Once;
use std::time::{Duration, Instant};

use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use ratatui::crossterm::cursor::Show;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use ratatui::crossterm::execute;
use ratatui::crossterm::terminal::{
    Clear, ClearType, EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};
use ratatui::layout::{Position, Rect};
use wattspan::Wattspan;

use super::state::{Key, State};
use super::view::{Palette, draw, visible};
use crate::exit::Failure;
use crate::output::outcome;
use crate::signals::Signals;

/// Draws at each interval and at each key, until a key or a signal ends it.
pub(super) fn show(wattspan: &Wattspan, every: Duration, signals: &Signals) -> Result<(), Failure> {
    let shown = Screen::enter().and_then(|mut screen| screen.run(wattspan, every, signals));
    match shown {
        // Whoever closes the window sends a signal and takes the terminal away.
        Err(_) if signals.came() => Ok(()),
        shown => outcome("the terminal", shown),
    }
}

/// A terminal that is ours until this is dropped.
struct Screen {
    terminal: Terminal<CrosstermBackend<Stdout>>,
}

impl Screen {
    fn enter() -> io::Result<Self> {
        static HOOK: Once = Once::new();
        HOOK.call_once(|| {
            let before = panic::take_hook();
            panic::set_hook(Box::new(move |info| {
                // First, so that the message stands on the usual screen.
                restore();
                before(info);
            }));
        });
        let entered = enable_raw_mode()
            .and_then(|()| execute!(io::stdout(), EnterAlternateScreen, Clear(ClearType::All)))
            .and_then(|()| Terminal::new(CrosstermBackend::new(io::stdout())));
        match entered {
            Ok(mut terminal) => {
                terminal.hide_cursor().inspect_err(|_| restore())?;
                Ok(Self { terminal })
            }
            Err(error) => {
                restore();
                Err(error)
            }
        }
    }

    fn run(&mut self, wattspan: &Wattspan, every: Duration, signals: &Signals) -> io::Result<()> {
        let palette = Palette::from_env();
        let (mut state, begun) = (State::default(), Instant::now());
        let mut next = Instant::now();
        while !signals.came() {
            if Instant::now() >= next {
                if let Some(snapshot) = wattspan.monitor().snapshot() {
                    state.update(begun.elapsed(), &snapshot);
                }
                next = Instant::now() + every;
                self.terminal.draw(|frame| draw(frame, &state, palette))?;
            }
            let patience = next.saturating_duration_since(Instant::now()).min(LOOK);
            if !event::poll(patience)? {
                continue;
            }
            let area = Rect::from((Position::ORIGIN, self.terminal.size()?));
            match meaning(&event::read()?) {
                Some(Meaning::End) => break,
                Some(Meaning::Move(key)) => state.key(key, visible(area, &state)),
                Some(Meaning::Draw) => {}
                None => continue,
            }
            self.terminal.draw(|frame| draw(frame, &state, palette))?;
        }
        Ok(())
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        restore();
    }
}

/// As it was before. Where that fails there is no terminal any more.
fn restore() {
    let _ = disable_raw_mode();
    let _ = execute!(io::stdout(), LeaveAlternateScreen, Show);
}

/// What an event asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Meaning {
    End,
    Move(Key),
    /// The size has changed.
    Draw,
}

fn meaning(event: &Event) -> Option<Meaning> {
    match event {
        Event::Resize(..) => Some(Meaning::Draw),
        Event::Key(key) if key.kind != KeyEventKind::Release => of_key(key),
        _ => None,
    }
}

fn of_key(key: &KeyEvent) -> Option<Meaning> {
    Some(match key.code {
        KeyCode::Char('q' | 'Q') | KeyCode::Esc => Meaning::End,
        // In raw mode these come as keys and not as a signal and an end of input.
        KeyCode::Char('c' | 'd') if key.modifiers.contains(KeyModifiers::CONTROL) => Meaning::End,
        KeyCode::Up | KeyCode::Char('k') => Meaning::Move(Key::Up),
        KeyCode::Down | KeyCode::Char('j') => Meaning::Move(Key::Down),
        KeyCode::PageUp => Meaning::Move(Key::PageUp),
        KeyCode::PageDown | KeyCode::Char(' ') => Meaning::Move(Key::PageDown),
        KeyCode::Home | KeyCode::Char('g') => Meaning::Move(Key::First),
        KeyCode::End | KeyCode::Char('G') => Meaning::Move(Key::Last),
        _ => return None,
    })
}

/// A signal is seen this late at most.
const LOOK: Duration = Duration::from_millis(200);

#[cfg(all(test, target_os = "linux"))]
#[path = "../../tests/support/pty.rs"]
#[allow(dead_code, reason = "the tests of the program use the rest")]
mod pty;

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs once more, in a terminal of its own, and panics there.
    #[cfg(target_os = "linux")]
    #[test]
    fn a_panic_leaves_the_terminal_as_it_was_and_is_told_there() {
        const INSIDE: &str = "WATTSPAN_TEST_PANICS";
        if std::env::var_os(INSIDE).is_some() {
            let _screen = Screen::enter().unwrap();
            panic!("in the middle of drawing");
        }
        let mut pty = pty::Pty::new(80, 24);
        let mut command = std::process::Command::new(std::env::current_exe().unwrap());
        let this = "watch::terminal::tests::a_panic_leaves_the_terminal_as_it_was_and_is_told_there";
        let mut child = pty.start(command.args(["--exact", this, "--nocapture"]).env(INSIDE, "1"));
        for text in [pty::ENTERED, pty::LEFT, pty::CURSOR, "in the middle of drawing"] {
            let (mut seen, mut byte) = (Vec::new(), [0]);
            while !seen.ends_with(text.as_bytes()) {
                io::Read::read_exact(&mut pty.person, &mut byte).unwrap();
                seen.push(byte[0]);
            }
        }
        assert!(!child.wait().unwrap().success());
        assert!(pty.is_sane());
    }

    #[test]
    fn keys_end_and_move() {
        let of = |code, modifiers| meaning(&Event::Key(KeyEvent::new(code, modifiers)));
        for code in [KeyCode::Char('q'), KeyCode::Esc] {
            assert_eq!(of(code, KeyModifiers::NONE), Some(Meaning::End));
        }
        assert_eq!(of(KeyCode::Char('c'), KeyModifiers::CONTROL), Some(Meaning::End));
        assert_eq!(of(KeyCode::Char('c'), KeyModifiers::NONE), None);
        assert_eq!(of(KeyCode::PageDown, KeyModifiers::NONE), Some(Meaning::Move(Key::PageDown)));
        assert_eq!(meaning(&Event::Resize(10, 10)), Some(Meaning::Draw));
        assert_eq!(meaning(&Event::FocusLost), None);
    }
}
