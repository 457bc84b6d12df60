use super::*;
use crate::fake_tree::{FakeProcess, FakeTree};
use std::net::TcpListener;
use std::time::Duration;

const HEAD: &str = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when\n";

/// A line in the format of the running kernel.
fn line(at: &str, state: &str, inode: u64) -> String {
    connection(at, "0.0.0.0:0", state, inode)
}

fn connection(at: &str, remote: &str, state: &str, inode: u64) -> String {
    let (at, remote) = (hex(at), hex(remote));
    format!("   0: {at} {remote} {state} 0:0 00:0 0 0 0 {inode} 1 0 100\n")
}

/// In TIME_WAIT, with so much of its minute left.
fn ended(at: &str, remote: &str, left: u64) -> String {
    let line = connection(at, remote, "06", 0);
    line.replace(" 00:0 ", &format!(" 03:{:08X} ", left * 100))
}

fn hex(at: &str) -> String {
    let at: SocketAddr = at.parse().unwrap();
    let ip: String = match at.ip() {
        IpAddr::V4(ip) => format!("{:08X}", u32::from_ne_bytes(ip.octets())),
        IpAddr::V6(ip) => ip
            .octets()
            .chunks(4)
            .map(|b| format!("{:08X}", u32::from_ne_bytes(b.try_into().unwrap())))
            .collect(),
    };
    format!("{ip}:{:04X}", at.port())
}

fn tree(v4: &[String], v6: &[String]) -> FakeTree {
    let trie = "Main:\n  +-- 0.0.0.0/0 3 0 5\n     |-- 192.0.2.0\n        /24 link UNICAST\n\
                \x20    |-- 192.0.2.2\n        /32 host LOCAL\n";
    let inet6 = "fd000000000000000000000000000002 04 40 00 82     eth0\n";
    FakeTree::new()
        .file("proc/net/tcp", &format!("{HEAD}{}", v4.concat()))
        .file("proc/net/tcp6", &format!("{HEAD}{}", v6.concat()))
        .file("proc/net/fib_trie", trie)
        .file("proc/net/if_inet6", inet6)
}

fn service(tree: &FakeTree, address: &str, pids: &[Pid]) -> ServiceSockets {
    ServiceSockets::find(tree.root(), address.parse().unwrap(), pids).unwrap()
}

fn find(tree: &FakeTree, address: &str) -> Listeners {
    listeners(tree.root(), address.parse().unwrap()).unwrap()
}

#[test]
fn master_and_workers_hold_the_socket() {
    let tree = tree(&[line("127.0.0.1:8080", "0A", 77)], &[])
        .link("proc/30/fd/6", "socket:[77]")
        .link("proc/9/fd/6", "socket:[77]")
        .link("proc/9/fd/7", "/dev/null")
        .link("proc/31/fd/0", "socket:[78]");
    tree.process(FakeProcess::new(9, 1));
    tree.process(FakeProcess::new(30, 1));
    assert_eq!(find(&tree, "127.0.0.1:8080"), Listeners::Found(vec![9, 30]));
    assert_eq!(find(&tree, "127.0.0.1:8081"), Listeners::NotListening);
}

#[test]
fn heirs_of_the_socket_and_those_that_have_ended_are_left_out() {
    let tree = [9, 30, 31, 40, 41].into_iter().fold(
        tree(&[line("127.0.0.1:8080", "0A", 77)], &[]),
        |tree, pid| tree.link(&format!("proc/{pid}/fd/6"), "socket:[77]"),
    );
    tree.process(FakeProcess::new(9, 1));
    tree.process(FakeProcess::new(30, 9));
    // A process between them that does not hold it.
    tree.process(FakeProcess::new(10, 9));
    tree.process(FakeProcess::new(31, 10));
    tree.process(FakeProcess::new(40, 7));
    assert_eq!(find(&tree, "127.0.0.1:8080"), Listeners::Found(vec![9, 40]));
}

#[test]
fn listeners_beside_a_named_service_are_those_that_it_has_not_started() {
    let tree = tree(&[line("127.0.0.1:8080", "0A", 77)], &[])
        .link("proc/30/fd/6", "socket:[77]")
        .link("proc/31/fd/6", "socket:[77]")
        .link("proc/32/fd/6", "socket:[77]")
        .link("proc/60/fd/6", "socket:[77]")
        .link("proc/50/fd/6", "socket:[78]");
    for (pid, parent) in [(9, 1), (30, 9), (31, 30), (32, 30), (50, 1), (60, 1)] {
        tree.process(FakeProcess::new(pid, parent));
    }
    let none: Vec<Pid> = vec![];
    let at = |address: &str, named: &[Pid]| {
        listeners_beside(tree.root(), named, address.parse().unwrap()).unwrap()
    };
    assert_eq!(at("127.0.0.1:8080", &[9, 60]), none, "the parent of one");
    assert_eq!(at("127.0.0.1:8080", &[30]), [60], "another listens, too");
    assert_eq!(at("127.0.0.1:8080", &[31, 60]), [30], "a master may answer");
    assert_eq!(at("127.0.0.1:8080", &[50]), [30, 60]);
    assert_eq!(at("127.0.0.1:8080", &[]), [30, 60], "an empty cgroup");
    assert_eq!(at("127.0.0.1:8081", &[30]), none, "nobody listens");
    assert_eq!(at("192.0.2.7:8080", &[30]), none, "another host");
}

#[test]
fn clients_are_all_connections_but_those_of_this_process() {
    let at = "127.0.0.1:8080";
    let both = |port: u16, inode: u64| {
        let client = format!("127.0.0.1:{port}");
        let ends = [(at, &*client, 0), (&*client, at, inode)];
        ends.map(|(of, remote, inode)| connection(of, remote, "01", inode))
            .concat()
    };
    let ours = std::process::id();
    let remote = connection(at, "192.0.2.9:5000", "01", 0);
    let closed = connection(at, "192.0.2.9:5001", "06", 0);
    let elsewhere = connection("127.0.0.1:8081", "192.0.2.9:5002", "01", 0);
    let mapped = connection(
        "[::ffff:127.0.0.1]:8080",
        "[::ffff:127.0.0.1]:4004",
        "01",
        0,
    );
    let client = connection("127.0.0.1:4004", at, "01", 74);
    let v4 = [
        both(4001, 71),
        both(4002, 72),
        remote,
        closed,
        elsewhere,
        client,
    ];
    let tree = tree(&v4, &[mapped])
        .link(&format!("proc/{ours}/fd/5"), "socket:[71]")
        .link("proc/40/fd/5", "socket:[72]")
        .link("proc/41/fd/5", "socket:[72]")
        .link("proc/50/fd/9", "socket:[74]");
    for (pid, parent) in [(40, 1), (41, 40), (50, 1)] {
        tree.process(FakeProcess::new(pid, parent));
    }
    let found = |at: &str| service(&tree, at, &[]).other_clients(tree.root()).unwrap();
    let expected = OtherClients {
        connections: 3,
        to: [at.parse().unwrap()].into(),
        pids: vec![40, 50],
    };
    assert_eq!(found(at), expected);
    assert_eq!(found("0.0.0.0:8080"), expected);
    assert_eq!(found("127.0.0.1:8082"), OtherClients::default());
}

#[test]
fn connections_that_have_ended_count_if_they_are_of_others_and_recent() {
    let (at, mapped) = ("127.0.0.1:8080", "[::ffff:127.0.0.1]:8080");
    let v4 = [
        ended("127.0.0.1:4001", at, 59),
        ended("127.0.0.1:4002", at, 51),
        ended("127.0.0.1:4003", at, 49),
        // The service closed first.
        ended(at, "192.0.2.9:4004", 60),
        ended(at, "127.0.0.1:4005", 60),
        ended("127.0.0.1:4006", "127.0.0.1:8081", 60),
        connection("127.0.0.1:4007", at, "01", 71),
    ];
    let v6 = [ended(mapped, "[::ffff:192.0.2.9]:4008", 60)];
    let tree = tree(&v4, &v6);
    let found = |at: &str, within| {
        let within = Duration::from_secs(within);
        let is_ours = |port| port == 4005;
        let found = service(&tree, at, &[]).ended_connections(tree.root(), within, is_ours);
        found.unwrap()
    };
    let ended = |number: usize| [(at.parse().unwrap(), number)].into();
    assert_eq!(found(at, 10), ended(4), "4001, 4002, 4004, 4008");
    assert_eq!(found("0.0.0.0:8080", 10), ended(4));
    assert_eq!(found(at, 20), ended(5));
    assert_eq!(found(at, 0), [].into());
    assert_eq!(found("127.0.0.1:8082", 60), [].into());
}

#[test]
fn clients_of_other_ports_of_the_service_count_and_the_service_itself_does_not() {
    let both = |port: u16, at: &str, inode: u64| {
        let client = format!("127.0.0.1:{port}");
        connection(at, &client, "01", 0) + &connection(&client, at, "01", inode)
    };
    let v4 = [
        line("127.0.0.1:8080", "0A", 61),
        line("0.0.0.0:8443", "0A", 62),
        line("127.0.0.1:9000", "0A", 63),
        both(4001, "127.0.0.1:8443", 71),
        // By the service's worker.
        both(4002, "127.0.0.1:8443", 72),
        // With another service, and by the service.
        both(4003, "127.0.0.1:9000", 73),
        ended("127.0.0.1:4004", "127.0.0.1:8443", 60),
        ended("127.0.0.1:4005", "127.0.0.1:9000", 60),
    ];
    let tree = tree(&v4, &[])
        .link("proc/30/fd/5", "socket:[61]")
        .link("proc/30/fd/6", "socket:[62]")
        .link("proc/31/fd/7", "socket:[72]")
        .link("proc/31/fd/8", "socket:[73]")
        .link("proc/40/fd/5", "socket:[63]")
        .link("proc/50/fd/5", "socket:[71]");
    for (pid, parent) in [(30, 1), (31, 30), (40, 1), (50, 1)] {
        tree.process(FakeProcess::new(pid, parent));
    }
    let found = |pids: &[Pid]| {
        let service = service(&tree, "127.0.0.1:8080", pids);
        let within = Duration::from_secs(10);
        let ended = service.ended_connections(tree.root(), within, |_| false);
        (service.other_clients(tree.root()).unwrap(), ended.unwrap())
    };
    let at: SocketAddr = "127.0.0.1:8443".parse().unwrap();
    let open = OtherClients {
        connections: 1,
        to: [at].into(),
        pids: vec![50],
    };
    assert_eq!(found(&[30]), (open, [(at, 1)].into()));
    assert_eq!(
        found(&[]),
        Default::default(),
        "processes that are not known"
    );
}

#[test]
fn systemd_does_not_serve_what_it_has_opened_for_others() {
    let tree = tree(&[line("127.0.0.1:8080", "0A", 77)], &[])
        .link("proc/1/fd/40", "socket:[77]")
        .file("proc/1/comm", "systemd\n");
    tree.process(FakeProcess::new(1, 0));
    tree.process(FakeProcess::new(30, 1));
    assert_eq!(find(&tree, "127.0.0.1:8080"), Listeners::Found(vec![1]));
    let tree = tree.link("proc/30/fd/3", "socket:[77]");
    assert_eq!(find(&tree, "127.0.0.1:8080"), Listeners::Found(vec![30]));
}

#[test]
fn wildcard_sockets_serve_local_addresses_only() {
    let tree = tree(&[], &[line("[::]:80", "0A", 5)]).link("proc/9/fd/3", "socket:[5]");
    tree.process(FakeProcess::new(9, 1));
    let found = Listeners::Found(vec![9]);
    for here in ["127.0.0.1:80", "[::1]:80", "192.0.2.2:80", "[fd00::2]:80"] {
        assert_eq!(find(&tree, here), found, "{here}");
    }
    for there in ["192.0.2.3:80", "192.0.2.0:80", "[fd00::3]:80"] {
        assert_eq!(find(&tree, there), Listeners::OtherHost, "{there}");
    }
}

#[test]
fn the_most_specific_listening_sockets_are_found() {
    let found = |pids: &[Pid]| Listeners::Found(pids.to_vec());
    let any_v4 = ("0.0.0.0:80", "0A");
    let of_all = [
        ("127.0.0.1:80", "0A"),
        any_v4,
        ("[::]:80", "0A"),
        ("[::ffff:192.0.2.2]:80", "0A"),
    ];
    /// An address and a state.
    type Socket = (&'static str, &'static str);
    let cases: [(&[Socket], &str, Listeners); 9] = [
        (
            &[("127.0.0.1:80", "01")],
            "127.0.0.1:80",
            Listeners::NotListening,
        ),
        (&[any_v4], "192.0.2.2:80", found(&[1])),
        (&[any_v4], "[::1]:80", Listeners::NotListening),
        (&of_all, "127.0.0.1:80", found(&[1])),
        (&of_all, "127.0.0.2:80", found(&[2])),
        (&of_all, "[::1]:80", found(&[3])),
        (&of_all, "192.0.2.2:80", found(&[4])),
        // SO_REUSEPORT
        (&[any_v4, any_v4], "127.0.0.1:80", found(&[1, 2])),
        // The unspecified address is this host.
        (&[("127.0.0.1:80", "0A")], "0.0.0.0:80", found(&[1])),
    ];
    for (sockets, address, expected) in cases {
        let (mut v4, mut v6) = (Vec::new(), Vec::new());
        for (inode, (at, state)) in (1..).zip(sockets) {
            let table = if at.starts_with('[') {
                &mut v6
            } else {
                &mut v4
            };
            table.push(line(at, state, inode));
        }
        // The process of each socket has the socket's number.
        let tree = (1..=sockets.len()).fold(tree(&v4, &v6), |tree, pid| {
            tree.link(&format!("proc/{pid}/fd/3"), &format!("socket:[{pid}]"))
        });
        for pid in 1..=sockets.len() as Pid {
            tree.process(FakeProcess::new(pid, 0));
        }
        assert_eq!(find(&tree, address), expected, "{sockets:?} {address}");
    }
}

#[test]
fn socket_without_visible_holder_is_reported() {
    let tree = tree(&[line("0.0.0.0:80", "0A", 1)], &[]).link("proc/1/fd/3", "socket:[9]");
    assert_eq!(find(&tree, "127.0.0.1:80"), Listeners::HolderInvisible);
    // If some processes cannot be inspected, they may hold the socket.
    assert_eq!(classify(vec![], 3), Listeners::Hidden { unreadable: 3 });
    assert_eq!(classify(vec![9], 3), Listeners::Found(vec![9]));
}

#[test]
fn own_listener_is_found() {
    let ours = Listeners::Found(vec![std::process::id()]);
    let find = |at: SocketAddr| listeners(&Root::machine(), at).unwrap();
    let mut bound = vec![TcpListener::bind("127.0.0.1:0").unwrap()];
    bound.push(TcpListener::bind("0.0.0.0:0").unwrap());
    bound.extend(TcpListener::bind("[::]:0"));
    for listener in &bound {
        let port = listener.local_addr().unwrap().port();
        let address = SocketAddr::from(([127, 0, 0, 1], port));
        assert_eq!(find(address), ours, "{listener:?}");
    }
    if let Ok(listener) = TcpListener::bind("[::1]:0") {
        let address = listener.local_addr().unwrap();
        assert_eq!(find(address), ours, "{listener:?}");
    }
}
