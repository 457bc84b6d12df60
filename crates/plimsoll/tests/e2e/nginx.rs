//! A real nginx on a port of its own.

use std::fs;
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// Runs until it is dropped.
pub(crate) struct Nginx {
    process: Child,
    folder: TempDir,
    port: u16,
}

impl Nginx {
    /// One worker on CPU 0 that answers three bytes.
    pub(crate) fn start() -> Nginx {
        let folder = TempDir::new().unwrap();
        let free = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = free.local_addr().unwrap().port();
        drop(free);
        let root = folder.path().display();
        let user = if rustix::process::geteuid().is_root() {
            "user root;"
        } else {
            ""
        };
        let config = format!(
            "daemon off; worker_processes 1; {user} pid {root}/pid; error_log {root}/error.log;
             events {{ worker_connections 4096; }}
             http {{
               access_log off; keepalive_requests 1000000000; keepalive_timeout 1h;
               client_body_temp_path {root}/body; proxy_temp_path {root}/proxy;
               fastcgi_temp_path {root}/fastcgi; uwsgi_temp_path {root}/uwsgi; scgi_temp_path {root}/scgi;
               server {{ listen 127.0.0.1:{port} backlog=4096; location / {{ return 200 \"ok\\n\"; }} }}
             }}"
        );
        let path = folder.path().join("nginx.conf");
        fs::write(&path, config).unwrap();
        let process = Command::new("taskset")
            .args(["-c", "0", "nginx", "-p"])
            .arg(folder.path())
            .arg("-c")
            .arg(&path)
            .stdin(Stdio::null())
            .spawn()
            .expect("nginx and taskset are installed by .ci/run");
        let nginx = Nginx {
            process,
            folder,
            port,
        };
        nginx.wait_until_it_answers();
        nginx
    }

    fn wait_until_it_answers(&self) {
        let began = Instant::now();
        while TcpStream::connect(("127.0.0.1", self.port)).is_err() {
            let log = fs::read_to_string(self.folder.path().join("error.log"));
            assert!(began.elapsed() < Duration::from_secs(20), "{log:?}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://127.0.0.1:{}/", self.port)
    }

    /// Ends it at once, in the middle of whatever it does.
    pub(crate) fn kill(&mut self) {
        // The master alone would leave its worker behind.
        let workers = format!("-KILL -P {}", self.process.id());
        let _ = Command::new("pkill").args(workers.split(' ')).status();
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Drop for Nginx {
    fn drop(&mut self) {
        self.kill();
    }
}
