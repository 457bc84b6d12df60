//! Offers a load at a rate and prints the results, for comparison with other
//! load generators:
//!
//! ```text
//! drive http URL RATE SECONDS CONNECTIONS CPU [constant] [http2=STREAMS]
//! drive known RATE SECONDS CONNECTIONS CPU [constant] [http2=STREAMS]    (servers whose latency is known)
//! drive hash LOAD SECONDS CPUS                           (the hash service)
//! ```
//!
//! LOAD is a rate per second, percent of the calibrated capacity such as `50%`,
//! or `full` for overload; CPUS is a list such as `0-3`.
#![allow(clippy::print_stdout, reason = "printing is what an example is for")]

use plimsoll_load::hash::{HashLoad, calibrate};
use plimsoll_load::http::HttpLoad;
use plimsoll_load::known::{Behaviour, Http2Behaviour, KnownHttp2, KnownServer};
use plimsoll_load::{Load, Offer, Shape};
use plimsoll_model::{
    Arrivals, CpuId, CpuSet, CpuTime, Histogram, HttpService, Rate, Work, human_duration,
};
use rustix::time::{ClockId, clock_gettime};
use std::error::Error;
use std::num::{NonZeroU32, ParseIntError};
use std::time::{Duration, Instant};

fn main() -> Result<(), Box<dyn Error>> {
    let typed: Vec<String> = std::env::args().skip(1).collect();
    let typed: Vec<&str> = typed.iter().map(String::as_str).collect();
    match typed[..] {
        ["hash", load, seconds, cpus] => hash(load, seconds.parse()?, &cpus.parse()?),
        ["http", url, ref rest @ ..] => http(url, rest),
        ["known", ref rest @ ..] => known(rest),
        _ => Err("usage: see the beginning of crates/load/examples/drive.rs".into()),
    }
}

fn hash(load: &str, seconds: f64, cpus: &CpuSet) -> Result<(), Box<dyn Error>> {
    let first = cpus.iter().next().ok_or("no CPU")?;
    let service = calibrate(CpuTime(Duration::from_millis(1)), first)?;
    let capacity = cpus.len() as f64 / service.request_cpu.0.as_secs_f64();
    let rate = match (load, load.strip_suffix('%')) {
        ("full", _) => 2.0 * capacity,
        (_, Some(percent)) => capacity * percent.parse::<f64>()? / 100.0,
        (rate, None) => rate.parse()?,
    };
    let offer = offer(rate, Arrivals::Poisson, Duration::from_millis(100))?;
    let window = Duration::from_secs_f64(seconds);
    let work = drive(&mut HashLoad::new(&service, cpus)?, &offer, window)?;
    let megabytes = work.completed as f64 * service.mean_block.0 as f64 / 1e6;
    println!("block     {}", service.mean_block);
    println!("MB/s      {:.1}", megabytes / seconds);
    Ok(())
}

fn http(url: &str, typed: &[&str]) -> Result<(), Box<dyn Error>> {
    let [rate, seconds, connections, cpu, rest @ ..] = typed else {
        return Err("give RATE SECONDS CONNECTIONS CPU [constant] [http2=STREAMS]".into());
    };
    let arrivals = match rest.contains(&"constant") {
        true => Arrivals::Constant,
        false => Arrivals::Poisson,
    };
    let service = HttpService {
        insecure: true,
        http2_streams: streams(rest)?,
        ..HttpService::get(url, connections.parse()?, Duration::from_secs(5))
    };
    let mut load = HttpLoad::new(&service, [cpu.parse()?].into_iter().collect())?;
    println!("{:?}", load.probe()?);
    let offer = offer(rate.parse()?, arrivals, Duration::from_secs(1))?;
    drive(&mut load, &offer, Duration::from_secs(seconds.parse()?))?;
    Ok(())
}

fn known(typed: &[&str]) -> Result<(), Box<dyn Error>> {
    let generator: CpuId = typed.get(3).ok_or("no CPU")?.parse()?;
    let cpus = plimsoll_pool::allowed_cpus()?;
    let server_cpu = cpus.iter().find(|cpu| *cpu != generator);
    let server_cpu = server_cpu.ok_or("the server needs another CPU than the generator")?;
    for us in [200, 2_000, 20_000] {
        let after = Duration::from_micros(us);
        println!("a server that answers after {}:", human_duration(after));
        if streams(typed)?.is_some() {
            let behaviour = Http2Behaviour::answer(after);
            let server = KnownHttp2::start_polling(behaviour, server_cpu)?;
            http(&format!("http://{}/", server.addr()), typed)?;
            continue;
        }
        let server = KnownServer::start_polling(Behaviour::Answer { after }, server_cpu)?;
        http(&format!("http://{}/", server.addr()), typed)?;
    }
    Ok(())
}

/// Streams a connection, if HTTP/2 is asked for.
fn streams(typed: &[&str]) -> Result<Option<NonZeroU32>, ParseIntError> {
    let mut streams = typed.iter().filter_map(|word| word.strip_prefix("http2="));
    streams.next().map(str::parse).transpose()
}

fn offer(rate: f64, arrivals: Arrivals, drain: Duration) -> Result<Offer, Box<dyn Error>> {
    Ok(Offer {
        rate: Rate::per_second(rate).ok_or("no rate")?,
        arrivals,
        seed: 1,
        drain,
        shape: Shape::Constant,
        connections: None,
    })
}

fn drive(load: &mut dyn Load, offer: &Offer, window: Duration) -> Result<Work, Box<dyn Error>> {
    let sleep_until = |at: Instant| {
        std::thread::sleep(at.saturating_duration_since(Instant::now()));
    };
    let mut running = load.start(offer)?;
    std::thread::sleep(Duration::from_millis(200));
    let times = running.open_window(window);
    sleep_until(times.opens);
    let before = cpu_time();
    // From here on, the next tick covers the window only.
    running.tick();
    sleep_until(times.closes);
    let (used, ended) = (cpu_time().since(before), running.tick().completed);
    let work = running.finish()?;
    println!(
        "intended  {} sent {} completed {} ({}) unfinished {}",
        work.intended,
        work.sent,
        work.completed,
        Rate::of(work.completed, window),
        work.unfinished
    );
    println!("errors    {:?}", work.errors);
    println!("latency   {}", quantiles(&work.latency));
    println!("slip      {}", quantiles(&work.slip));
    if let Some(us) = used.us_per(ended as f64) {
        println!("cpu       {us:.2} us per request");
    }
    Ok(work)
}

/// CPU time of this process. Only the load uses any while a window is open,
/// unless the server is in this process.
fn cpu_time() -> CpuTime {
    let now = clock_gettime(ClockId::ProcessCPUTime);
    CpuTime(Duration::new(now.tv_sec.unsigned_abs(), now.tv_nsec as u32))
}

fn quantiles(histogram: &Histogram) -> String {
    [0.5, 0.9, 0.99, 0.999, 1.0]
        .iter()
        .filter_map(|q| Some((q, histogram.quantile(*q)?)))
        .map(|(q, value)| format!("{}% {}  ", q * 100.0, human_duration(value)))
        .collect()
}
