//! What was asked for, where, and what became of it.

use plimsoll_model::{
    Arrivals, Bytes, CacheSize, CpuPlan, HttpService, LoadLevel, Outcome, Plan, Provenance,
    Requirement, RunPlan, SearchPlan, ServiceAt, Share, TlsFiles, Topology, WarmUp, Workload,
};
use std::time::Duration;

pub(in crate::tests) fn plan(workload: Workload) -> Plan {
    let share = |x| Share::new(x).unwrap();
    Plan {
        goals: vec!["p99<10ms".parse().unwrap()],
        arrivals: Arrivals::Poisson,
        levels: [10.0, 50.0, 80.0, 100.0]
            .map(|p| LoadLevel::percent(p).unwrap())
            .to_vec(),
        search: Some(SearchPlan {
            precision: share(0.02),
            window: Duration::from_secs(3),
            budget: Duration::from_secs(240),
            confirm: Duration::from_secs(30),
        }),
        run: run(),
        ..Plan::blank(workload)
    }
}

pub(super) fn run() -> RunPlan {
    RunPlan {
        passes: 4,
        window: Duration::from_secs(10),
        warm_up: WarmUp {
            min: Duration::from_secs(1),
            max: Duration::from_secs(8),
        },
        cpus: CpuPlan {
            service: "0-2".parse().unwrap(),
            generator: "3".parse().unwrap(),
            ..CpuPlan::default()
        },
        seed: 42,
        ..RunPlan::blank()
    }
}

pub(crate) fn http() -> Workload {
    Workload::Http(HttpService {
        url: "http://localhost:8080/".to_owned(),
        method: "GET".to_owned(),
        headers: vec![
            ("Accept".to_owned(), "*/*".to_owned()),
            ("Authorization".to_owned(), "Bearer 12345".to_owned()),
        ],
        omitted_headers: vec![],
        omitted_body_bytes: None,
        body: vec![],
        connections: 16,
        max_connections: None,
        timeout: Duration::from_secs(5),
        expected_status: Some(204),
        expected_text: None,
        requests: None,
        insecure: false,
        requests_per_connection: None,
        http2_streams: None,
        grpc: false,
        tls: TlsFiles::default(),
        service: ServiceAt::Pid(4711),
    })
}

pub(in crate::tests) fn provenance() -> Provenance {
    Provenance {
        plimsoll_version: "0.1.0".to_owned(),
        hostname: Some("web1".to_owned()),
        cpu_model: Some("AMD EPYC 9B14".to_owned()),
        architecture: Some("x86_64".to_owned()),
        topology: Topology {
            online: "0-3".parse().unwrap(),
            allowed: "0-3".parse().unwrap(),
            sockets: Some(1),
            cores: Some(2),
            threads_per_core: Some(2),
            numa_nodes: Some(1),
            caches: vec![CacheSize {
                name: "L2".to_owned(),
                size: Bytes(1 << 20),
            }],
        },
        boost: Some(true),
        kernel: Some("6.1.0".to_owned()),
        mitigations: [("meltdown".to_owned(), "Not affected".to_owned())].into(),
        virtualisation: Some("kvm".to_owned()),
        cgroup_cpu_limit: Some(3.5),
        cgroup_memory_limit: Some(Bytes(1 << 33)),
        cgroup_version: Some(2),
        memory: Some(Bytes(1 << 34)),
        clock_source: Some("kvm-clock".to_owned()),
        steal_since_boot_share: Some(0.001),
        governor: None,
    }
}

pub(in crate::tests) fn requirements() -> Vec<Requirement> {
    vec![
        Requirement {
            name: "counters of all CPUs".to_owned(),
            outcome: Outcome::Met {
                found: "4 CPUs".to_owned(),
            },
        },
        Requirement {
            name: "pressure stall information".to_owned(),
            outcome: Outcome::Missed {
                lost: "waiting for CPUs is not shown".to_owned(),
                remedy: "start the kernel with psi=1".to_owned(),
            },
        },
    ]
}
