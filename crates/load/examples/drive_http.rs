//! Drives a URL at a rate and prints the results, for comparison with other
//! load generators:
//!
//! ```text
//! drive_http URL RATE SECONDS CONNECTIONS CPU [poisson|constant]
//! drive_http known 1000 5 16 1    (servers whose latency is known)
//! ```
#![allow(clippy::print_stdout, reason = "printing is what an example is for")]

use plimsoll_load::http::HttpLoad;
use plimsoll_load::known::{Behaviour, KnownServer};
use plimsoll_load::{Load, Offer};
use plimsoll_model::{
    Arrivals, CpuId, CpuTime, Histogram, HttpService, Rate, Work, human_duration,
};
use rustix::time::{ClockId, clock_gettime};
use std::error::Error;
use std::time::Duration;

struct Arguments {
    rate: Rate,
    seconds: u64,
    connections: u32,
    cpu: CpuId,
    arrivals: Arrivals,
}

fn main() -> Result<(), Box<dyn Error>> {
    let typed: Vec<String> = std::env::args().skip(1).collect();
    let [url, rate, seconds, connections, cpu, rest @ ..] = typed.as_slice() else {
        return Err("usage: drive_http URL|known RATE SECONDS CONNECTIONS CPU [constant]".into());
    };
    let arguments = Arguments {
        rate: Rate::per_second(rate.parse()?).ok_or("no rate")?,
        seconds: seconds.parse()?,
        connections: connections.parse()?,
        cpu: cpu.parse()?,
        arrivals: match rest {
            [word] if word == "constant" => Arrivals::Constant,
            _ => Arrivals::Poisson,
        },
    };
    if url != "known" {
        return drive(url, &arguments);
    }
    let cpus = plimsoll_pool::allowed_cpus()?;
    let server_cpu = cpus.iter().find(|cpu| *cpu != arguments.cpu);
    let server_cpu = server_cpu.ok_or("the server needs another CPU than the generator")?;
    for us in [200, 2_000, 20_000] {
        let after = Duration::from_micros(us);
        println!("a server that answers after {}:", human_duration(after));
        let server = KnownServer::start_polling(Behaviour::Answer { after }, server_cpu)?;
        drive(&format!("http://{}/", server.addr()), &arguments)?;
    }
    Ok(())
}

fn drive(url: &str, arguments: &Arguments) -> Result<(), Box<dyn Error>> {
    let service = HttpService {
        insecure: true,
        ..HttpService::get(url, arguments.connections, Duration::from_secs(5))
    };
    let mut load = HttpLoad::new(&service, [arguments.cpu].into_iter().collect())?;
    println!("{:?}", load.probe()?);
    let mut running = load.start(&Offer {
        rate: arguments.rate,
        arrivals: arguments.arrivals,
        seed: 1,
        drain: Duration::from_secs(1),
        steps: None,
    })?;
    std::thread::sleep(Duration::from_millis(200));
    let length = Duration::from_secs(arguments.seconds);
    let before = cpu_time();
    running.tick();
    running.open_window(length);
    std::thread::sleep(length);
    let (tick, used) = (running.tick(), cpu_time().since(before));
    print(&running.finish()?, length);
    if let Some(us) = used.us_per(tick.completed) {
        println!("cpu       {us:.2} us per request");
    }
    Ok(())
}

/// CPU time of this process. Only the generator uses any while a window is
/// open, unless the server is in this process.
fn cpu_time() -> CpuTime {
    let now = clock_gettime(ClockId::ProcessCPUTime);
    CpuTime(Duration::new(
        now.tv_sec.cast_unsigned(),
        u32::try_from(now.tv_nsec).unwrap_or(0),
    ))
}

fn print(work: &Work, length: Duration) {
    println!(
        "intended  {} sent {} completed {} ({}) unfinished {}",
        work.intended,
        work.sent,
        work.completed,
        Rate::of(work.completed, length),
        work.unfinished
    );
    println!("errors    {:?}", work.errors);
    println!("latency   {}", quantiles(&work.latency));
    println!("slip      {}", quantiles(&work.slip));
}

fn quantiles(histogram: &Histogram) -> String {
    [0.5, 0.9, 0.99, 0.999, 1.0]
        .iter()
        .filter_map(|q| Some((q, histogram.quantile(*q)?)))
        .map(|(q, value)| format!("{}% {}  ", q * 100.0, human_duration(value)))
        .collect()
}
