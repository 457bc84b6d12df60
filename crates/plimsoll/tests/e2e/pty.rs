//! A pseudo-terminal with a person at it: what is on its screen, and keys.

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Termios, Winsize, tcgetattr, tcsetwinsize};
use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::process::Stdio;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

const COLUMNS: usize = 80;
const ROWS: usize = 24;

/// What the program has written, and what the screen shows of it.
#[derive(Debug)]
struct Screen {
    written: Vec<u8>,
    columns: usize,
    cells: Vec<char>,
    at: usize,
    /// What came of an escape sequence or a letter that has not ended.
    begun: Vec<u8>,
}

/// The terminal's two ends. The program has the one, we the other.
pub(crate) struct Pty {
    master: File,
    slave: File,
    screen: Arc<Mutex<Screen>>,
    before: Termios,
}

impl Pty {
    pub(crate) fn open() -> Pty {
        Pty::of_size(COLUMNS, ROWS)
    }

    pub(crate) fn of_size(columns: usize, rows: usize) -> Pty {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&master).unwrap();
        unlockpt(&master).unwrap();
        let name = ptsname(&master, vec![]).unwrap();
        let name = std::ffi::OsStr::from_bytes(name.as_bytes());
        let slave = OpenOptions::new()
            .read(true)
            .write(true)
            .open(name)
            .unwrap();
        let size = Winsize {
            ws_row: rows as u16,
            ws_col: columns as u16,
            ws_xpixel: 0,
            ws_ypixel: 0,
        };
        tcsetwinsize(&slave, size).unwrap();
        let before = tcgetattr(&slave).unwrap();
        let master = File::from(master);
        let screen = Arc::new(Mutex::new(Screen {
            written: vec![],
            columns,
            cells: vec![' '; columns * rows],
            at: 0,
            begun: vec![],
        }));
        let (mut from, to) = (master.try_clone().unwrap(), Arc::clone(&screen));
        std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(n @ 1..) = from.read(&mut bytes) {
                to.lock().unwrap().take(&bytes[..n]);
            }
        });
        Pty {
            master,
            slave,
            screen,
            before,
        }
    }

    /// The program's end, for one of its streams.
    pub(crate) fn stdio(&self) -> Stdio {
        self.slave.as_fd().try_clone_to_owned().unwrap().into()
    }

    pub(crate) fn press(&mut self, keys: &str) {
        self.master.write_all(keys.as_bytes()).unwrap();
    }

    /// Waits until the screen is as it should be.
    #[track_caller]
    pub(crate) fn wait_until(&self, what: &str, is_so: impl Fn(&str) -> bool) {
        let began = Instant::now();
        while !is_so(&self.shown()) {
            let late = began.elapsed() > Duration::from_secs(60);
            assert!(!late, "not {what} after 60 s:\n{}", self.shown());
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    #[track_caller]
    pub(crate) fn wait_for(&self, text: &str) {
        self.wait_until(text, |screen| screen.contains(text));
    }

    /// The screen, line by line.
    pub(crate) fn shown(&self) -> String {
        let screen = self.screen.lock().unwrap();
        let lines = screen.cells.chunks(screen.columns);
        let lines: Vec<String> = lines.map(|line| line.iter().collect()).collect();
        lines.join("\n")
    }

    /// All that was written so far, escape sequences included.
    pub(crate) fn written(&self) -> String {
        let screen = self.screen.lock().unwrap();
        String::from_utf8_lossy(&screen.written).into_owned()
    }

    /// The terminal is as it was: its settings, its screen, its cursor.
    #[track_caller]
    pub(crate) fn is_given_back(&self) {
        let now = tcgetattr(&self.slave).unwrap();
        assert_eq!(now.local_modes, self.before.local_modes);
        assert_eq!(now.input_modes, self.before.input_modes);
        assert_eq!(now.output_modes, self.before.output_modes);
        let written = self.written();
        let last = |what: &str| written.rfind(what);
        assert!(last("\u{1b}[?1049h").is_some(), "{written:?}");
        assert!(last("\u{1b}[?1049l") > last("\u{1b}[?1049h"), "{written:?}");
        assert!(last("\u{1b}[?25h") > last("\u{1b}[?25l"), "{written:?}");
    }
}

impl Screen {
    /// The few sequences that the view writes: where to go on, and clearing.
    fn take(&mut self, bytes: &[u8]) {
        self.written.extend_from_slice(bytes);
        for byte in bytes {
            self.begun.push(*byte);
            match self.begun.as_slice() {
                [0x1b] | [0x1b, b'['] => {}
                [0x1b, b'[', parameters @ .., end] if end.is_ascii_alphabetic() => {
                    let parameters = String::from_utf8_lossy(parameters).into_owned();
                    self.control(&parameters, *end);
                    self.begun.clear();
                }
                [0x1b, b'[', ..] => {}
                letter => {
                    if let Ok(letter) = std::str::from_utf8(letter) {
                        let letter = letter.chars().next().unwrap();
                        self.letter(letter);
                        self.begun.clear();
                    }
                }
            }
        }
    }

    fn letter(&mut self, letter: char) {
        if let Some(cell) = self.cells.get_mut(self.at) {
            *cell = letter;
            self.at += 1;
        }
    }

    fn control(&mut self, parameters: &str, end: u8) {
        match end {
            b'H' => {
                let numbers = parameters.split(';').map(|n| n.parse().unwrap_or(1));
                let numbers: Vec<usize> = numbers.collect();
                self.at = (numbers[0] - 1) * self.columns + numbers[1] - 1;
            }
            b'J' => self.cells.fill(' '),
            _ => {}
        }
    }
}
