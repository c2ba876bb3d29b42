//! A pseudo-terminal: the end that a person sits at, and the one that a program has.

use std::fs::File;
use std::process::{Child, Command};

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{LocalModes, Winsize, tcgetattr, tcsetwinsize};

pub(crate) struct Pty {
    /// The person's end.
    pub(crate) person: File,
    /// The program's. Kept open, so that the terminal outlives the program and can be looked at.
    program: File,
}

impl Pty {
    pub(crate) fn new(columns: u16, rows: u16) -> Self {
        let person = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("there are pseudo-terminals");
        grantpt(&person).and_then(|()| unlockpt(&person)).expect("it is ours");
        let name = ptsname(&person, Vec::new()).expect("it has a name");
        let name = name.into_string().expect("it is a plain path");
        let program = File::options().read(true).write(true).open(name).expect("it can be opened");
        let pty = Self { person: person.into(), program };
        pty.resize(columns, rows);
        pty
    }

    /// The program hears of it only by a signal, or when it asks.
    pub(crate) fn resize(&self, columns: u16, rows: u16) {
        let size = Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
        tcsetwinsize(&self.program, size).expect("it is a terminal");
    }

    /// Starts a program whose streams are all this terminal.
    pub(crate) fn start(&self, command: &mut Command) -> Child {
        let stream = || self.program.try_clone().expect("files can be shared");
        command.stdin(stream()).stdout(stream()).stderr(stream()).spawn().expect("the program starts")
    }

    /// Whether it echoes and gathers lines, as a shell wants it.
    pub(crate) fn is_sane(&self) -> bool {
        let modes = tcgetattr(&self.program).expect("it is a terminal").local_modes;
        modes.contains(LocalModes::ECHO | LocalModes::ICANON | LocalModes::ISIG)
    }
}

/// What a terminal is told when a program takes a screen of its own, and when it gives that back and shows the cursor.
/// (xterm control sequences, "Functions using CSI".)
pub(crate) const ENTERED: &str = "\x1b[?1049h";
pub(crate) const LEFT: &str = "\x1b[?1049l";
pub(crate) const CURSOR: &str = "\x1b[?25h";
