//! The control socket: takes a line of JSON, answers a line of JSON.

use crate::message::Message;
use rustix::net::sockopt::socket_peercred;
use rustix::process::{geteuid, getuid};
use std::fs;
use std::io::{self, BufRead, BufReader, ErrorKind, Read, Write};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::Duration;

/// Connections at a time; more are closed at once.
const MOST: usize = 16;
/// The longest line that is read, in bytes.
const LONGEST: u64 = 8192;
/// How long a client that reads no answers is waited for.
const UNREAD: Duration = Duration::from_secs(2);

/// A message and where its answer goes.
#[derive(Debug)]
pub struct Asked {
    pub message: Message,
    answer: Sender<String>,
}

impl Asked {
    /// Answers with a line of JSON, without its end.
    pub fn answer(self, json: String) {
        // The client may be gone.
        let _ = self.answer.send(json);
    }
}

/// A listening socket; the file is removed when it is dropped.
#[derive(Debug)]
pub struct ControlSocket {
    path: PathBuf,
    /// Device and number of the file.
    file: Option<(u64, u64)>,
    asked: Receiver<Asked>,
}

impl ControlSocket {
    /// Listens at `path`, for this user and root alone. A socket that nobody listens at is replaced.
    ///
    /// # Errors
    /// Somebody listens there, there is another file, or the folder cannot be written to.
    pub fn bind(path: &Path) -> io::Result<ControlSocket> {
        let listener = match UnixListener::bind(path) {
            Err(e) if e.kind() == ErrorKind::AddrInUse => {
                remove_unused(path)?;
                UnixListener::bind(path)?
            }
            other => other?,
        };
        let (send, asked) = channel();
        let thread = thread::Builder::new().name("control".to_owned());
        thread.spawn(move || accept(&listener, &send))?;
        Ok(ControlSocket {
            path: path.to_owned(),
            file: identity(path),
            asked,
        })
    }

    /// The next message, waited for at most so long.
    pub fn wait(&self, at_most: Duration) -> Option<Asked> {
        self.asked.recv_timeout(at_most).ok()
    }
}

impl Drop for ControlSocket {
    fn drop(&mut self) {
        // What has taken its place is somebody's.
        if self.file.is_some() && self.file == identity(&self.path) {
            let _ = fs::remove_file(&self.path);
        }
    }
}

fn identity(path: &Path) -> Option<(u64, u64)> {
    let about = fs::symlink_metadata(path).ok()?;
    Some((about.dev(), about.ino()))
}

fn remove_unused(path: &Path) -> io::Result<()> {
    if !fs::symlink_metadata(path)?.file_type().is_socket() {
        return Err(io::Error::new(
            ErrorKind::AlreadyExists,
            "there is a file that is no socket",
        ));
    }
    match UnixStream::connect(path) {
        Err(e) if e.kind() == ErrorKind::ConnectionRefused => fs::remove_file(path),
        Err(e) => Err(e),
        Ok(_) => Err(io::Error::new(
            ErrorKind::AddrInUse,
            "another service listens there",
        )),
    }
}

fn accept(listener: &UnixListener, asked: &Sender<Asked>) {
    let open = Arc::new(AtomicUsize::new(0));
    for stream in listener.incoming() {
        let Ok(stream) = stream else {
            // Out of descriptors: others may close.
            thread::sleep(Duration::from_millis(100));
            continue;
        };
        if !is_allowed(&stream) || open.load(Ordering::Relaxed) >= MOST {
            continue;
        }
        open.fetch_add(1, Ordering::Relaxed);
        let (asked, closed) = (asked.clone(), Arc::clone(&open));
        let serve = move || {
            let _ = converse(&stream, &asked);
            closed.fetch_sub(1, Ordering::Relaxed);
        };
        if thread::Builder::new().spawn(serve).is_err() {
            open.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

/// This user or root: the mode of the file depends on the umask of who started this.
fn is_allowed(stream: &UnixStream) -> bool {
    let peer = socket_peercred(stream).map(|peer| peer.uid);
    peer.is_ok_and(|uid| uid.is_root() || uid == geteuid() || uid == getuid())
}

fn converse(stream: &UnixStream, asked: &Sender<Asked>) -> io::Result<()> {
    stream.set_write_timeout(Some(UNREAD))?;
    let mut reader = BufReader::new(stream);
    loop {
        let mut line = Vec::new();
        let read = (&mut reader).take(LONGEST).read_until(b'\n', &mut line)?;
        if read == 0 {
            return Ok(());
        }
        let answer = match Message::of_line(&line) {
            Ok(message) => {
                let (answer, answered) = channel();
                let sent = asked.send(Asked { message, answer });
                let answered = sent.ok().and_then(|()| answered.recv().ok());
                answered.ok_or(ErrorKind::BrokenPipe)?
            }
            Err(error) => serde_json::json!({ "error": error.to_string() }).to_string(),
        };
        let mut stream = stream;
        stream.write_all(format!("{answer}\n").as_bytes())?;
        // The rest of a line that is too long is no message.
        if !line.ends_with(b"\n") {
            return Ok(());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(path: &Path, line: &str) -> String {
        let mut stream = UnixStream::connect(path).unwrap();
        stream.write_all(line.as_bytes()).unwrap();
        let mut answer = String::new();
        BufReader::new(stream).read_line(&mut answer).unwrap();
        answer
    }

    #[test]
    fn messages_reach_the_service_and_garbage_gets_a_sentence() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("control");
        let socket = ControlSocket::bind(&path).unwrap();
        let refused = ask(&path, "make it faster\n");
        assert!(refused.starts_with("{\"error\":"), "{refused}");
        let client = {
            let path = path.clone();
            thread::spawn(move || ask(&path, "{\"status\": true}\n"))
        };
        let asked = socket.wait(Duration::from_secs(60)).unwrap();
        assert_eq!(asked.message, Message::Status);
        asked.answer("{\"ok\":true}".to_owned());
        assert_eq!(client.join().unwrap(), "{\"ok\":true}\n");
        drop(socket);
        assert!(!path.exists());
    }

    #[test]
    fn second_service_and_other_files_are_refused_and_a_dead_socket_is_replaced() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("control");
        let socket = ControlSocket::bind(&path).unwrap();
        let second = ControlSocket::bind(&path).unwrap_err();
        assert!(second.to_string().contains("another service"), "{second}");
        std::mem::forget(socket);
        let dead = dir.path().join("dead");
        drop(UnixListener::bind(&dead).unwrap());
        assert!(ControlSocket::bind(&dead).is_ok());
        let replaced = ControlSocket::bind(&dead).unwrap();
        fs::remove_file(&dead).unwrap();
        fs::write(&dead, "mine").unwrap();
        drop(replaced);
        assert_eq!(fs::read(&dead).unwrap(), b"mine");
        let file = dir.path().join("file");
        fs::write(&file, "precious").unwrap();
        assert!(ControlSocket::bind(&file).is_err());
        assert_eq!(fs::read(&file).unwrap(), b"precious");
    }
}
