//! A real nginx on a port of its own.

use rustix::process::{Pid, Signal, kill_process};
use std::fs;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// A port where nobody listens.
pub(crate) fn free_port() -> u16 {
    let free = TcpListener::bind("127.0.0.1:0").unwrap();
    free.local_addr().unwrap().port()
}

/// Waits until somebody listens there; says `why_not` if nobody does.
pub(crate) fn wait_until_open(port: u16, why_not: impl Fn() -> String) {
    let began = Instant::now();
    while TcpStream::connect(("127.0.0.1", port)).is_err() {
        assert!(began.elapsed() < Duration::from_secs(20), "{}", why_not());
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// nginx with the configuration in this folder, on CPU 0.
fn spawn(folder: &Path) -> Child {
    Command::new("taskset")
        .args(["-c", "0", "nginx", "-p"])
        .arg(folder)
        .arg("-c")
        .arg(folder.join("nginx.conf"))
        .stdin(Stdio::null())
        .spawn()
        .expect("nginx and taskset are installed by .ci/run")
}

/// Runs until it is dropped.
pub(crate) struct Nginx {
    process: Child,
    folder: TempDir,
    port: u16,
    second_port: u16,
}

impl Nginx {
    /// One worker on CPU 0 that answers three bytes.
    pub(crate) fn start() -> Nginx {
        Nginx::listening("", "1000000000", r#"return 200 "ok\n""#)
    }

    /// It passes requests of HTTP/2, with TLS if so, to the server at this address, and ends each
    /// connection after 100 requests.
    pub(crate) fn start_http2(secure: bool, server: SocketAddr) -> Nginx {
        let flags = if secure { "ssl http2" } else { "http2" };
        Nginx::listening(flags, "100", &format!("proxy_pass http://{server}"))
    }

    fn listening(flags: &str, requests: &str, answer: &str) -> Nginx {
        let folder = TempDir::new().unwrap();
        let (port, second_port) = (free_port(), free_port());
        let own = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
        fs::write(folder.path().join("cert.pem"), own.cert.pem()).unwrap();
        let key = own.signing_key.serialize_pem();
        fs::write(folder.path().join("key.pem"), key).unwrap();
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
               access_log off; keepalive_requests {requests}; keepalive_timeout 1h;
               client_body_temp_path {root}/body; proxy_temp_path {root}/proxy;
               fastcgi_temp_path {root}/fastcgi; uwsgi_temp_path {root}/uwsgi; scgi_temp_path {root}/scgi;
               ssl_certificate {root}/cert.pem; ssl_certificate_key {root}/key.pem;
               server {{
                 listen 127.0.0.1:{port} backlog=4096 {flags}; listen 127.0.0.1:{second_port} {flags};
                 location / {{ {answer}; }} }}
             }}"
        );
        fs::write(folder.path().join("nginx.conf"), config).unwrap();
        let process = spawn(folder.path());
        let nginx = Nginx {
            process,
            folder,
            port,
            second_port,
        };
        nginx.wait_until_it_answers();
        nginx
    }

    /// Ends it at once and starts it again at the same address.
    pub(crate) fn restart(&mut self) {
        self.kill();
        self.process = spawn(self.folder.path());
        self.wait_until_it_answers();
    }

    /// What does the same in a shell. The process that it starts is not ended with this value.
    pub(crate) fn command_to_restart(&self) -> String {
        let (master, folder) = (self.process.id(), self.folder.path().display());
        format!(
            "kill -STOP {master}; pkill -KILL -P {master}; kill -KILL {master}; sleep 0.2; \
             taskset -c 0 nginx -p {folder} -c {folder}/nginx.conf </dev/null >/dev/null 2>&1 &"
        )
    }

    /// Has the process ID of the master.
    pub(crate) fn pid_file(&self) -> std::path::PathBuf {
        self.folder.path().join("pid")
    }

    fn wait_until_it_answers(&self) {
        let log = self.folder.path().join("error.log");
        wait_until_open(self.port, || format!("{:?}", fs::read_to_string(&log)));
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}/", self.at())
    }

    pub(crate) fn at(&self) -> SocketAddr {
        SocketAddr::from(([127, 0, 0, 1], self.port))
    }

    /// Another address of the same processes.
    pub(crate) fn second_at(&self) -> SocketAddr {
        SocketAddr::from(([127, 0, 0, 1], self.second_port))
    }

    /// The master and its worker, which it starts after it listens.
    pub(crate) fn pids(&self) -> Vec<u32> {
        let master = self.process.id();
        let began = Instant::now();
        loop {
            let found = Command::new("pgrep")
                .args(["-P", &master.to_string()])
                .output()
                .unwrap();
            let workers = String::from_utf8(found.stdout).unwrap();
            if !workers.is_empty() {
                let workers = workers.lines().map(|pid| pid.parse().unwrap());
                return [master].into_iter().chain(workers).collect();
            }
            assert!(began.elapsed() < Duration::from_secs(20), "no worker");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Ends it at once, in the middle of whatever it does.
    pub(crate) fn kill(&mut self) {
        // The master alone would leave its worker behind, and one that runs
        // would replace it.
        let _ = kill_process(Pid::from_child(&self.process), Signal::STOP);
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
