//! M/D/k, first come, first served.
//!
//! Erlang's and Crommelin's formulas for the waiting time alternate in sign and
//! lose all digits at high load. The form of Franx (A simple solution for the
//! M/D/c waiting time distribution, Operations Research Letters 29, 2001) has
//! positive terms only: with service time D, (n - 1) D <= t < n D and x =
//! lambda (n D - t),
//!
//! P(W <= t) = e^-x sum over j = 0 .. n k - 1 of Q(n k - 1 - j) x^j / j!
//!
//! where Q(m) is the probability that at most m requests wait, that is, that at
//! most k + m are in the system.
//!
//! The number in the system at times D apart is a Markov chain: requests in
//! service leave within D, and the arrivals of D are added (Crommelin 1932).
//! Its stationary distribution is computed by state reduction without
//! subtractions (Grassmann, Taksar and Heyman, Regenerative analysis and steady
//! state distributions for Markov chains, Operations Research 33, 1985).

/// Probabilities below this are ignored.
const NEGLIGIBLE: f64 = 1e-16;

/// The fraction of requests that take longer than `limit` seconds.
pub(super) fn tail(service: f64, servers: u32, rate: f64, limit: f64) -> f64 {
    let wait = limit - service;
    if wait < 0.0 {
        return 1.0;
    }
    let servers = servers as usize;
    let at_most = in_system_at_most(rate * service, servers);
    let steps = (wait / service).floor() as usize + 1;
    let x = rate * (steps as f64 * service - wait);
    let mut weight = (-x).exp();
    let mut not_longer = 0.0;
    for j in 0..steps * servers {
        if j > 0 {
            weight *= x / j as f64;
        }
        if j as f64 > x && weight < NEGLIGIBLE {
            break;
        }
        let waiting = steps * servers - 1 - j;
        not_longer += weight * at_most.get(servers + waiting).copied().unwrap_or(1.0);
    }
    (1.0 - not_longer).clamp(0.0, 1.0)
}

/// The probability that at most n requests are in the system, from n = 0 on.
fn in_system_at_most(load: f64, servers: usize) -> Vec<f64> {
    let arrivals = poisson(load);
    let last = arrivals.len() - 1;
    let states = servers + last + (37.0 / decay(load, servers)) as usize;
    // From state n to states `base(n)` and up: a band as wide as `arrivals`.
    let base = |n: usize| n.saturating_sub(servers);
    let mut moves: Vec<Vec<f64>> = (0..=states).map(|_| arrivals.clone()).collect();
    for n in (1..=states).rev() {
        let (below, row) = moves.split_at_mut(n);
        // All transitions out of n and above, which is already reduced.
        let down: Vec<f64> = row[0][..(n - base(n)).min(arrivals.len())].to_vec();
        let out: f64 = down.iter().sum();
        let from = n.saturating_sub(last);
        for (i, to) in below.iter_mut().enumerate().skip(from) {
            let Some(up) = to.get_mut(n - base(i)) else {
                continue;
            };
            *up /= out;
            let up = *up;
            for (entry, part) in to[base(n) - base(i)..].iter_mut().zip(&down) {
                *entry += up * part;
            }
        }
    }
    let mut weights = vec![1.0];
    for n in 1..=states {
        // No lower state reaches n in one step.
        let reach = n.saturating_sub(last)..n;
        let parts = reach.filter_map(|i| Some(weights[i] * moves[i].get(n - base(i))?));
        let weight = parts.sum();
        weights.push(weight);
    }
    let all: f64 = weights.iter().sum();
    let mut sum = 0.0;
    for weight in &mut weights {
        sum += *weight;
        *weight = sum / all;
    }
    weights
}

/// The probabilities of 0, 1, 2, … arrivals, truncated.
fn poisson(mean: f64) -> Vec<f64> {
    let mut all = vec![(-mean).exp()];
    let mut last = all[0];
    while (all.len() as f64) < mean || last > NEGLIGIBLE {
        last *= mean / all.len() as f64;
        all.push(last);
    }
    all
}

/// The logarithm of the factor by which each further request in the system is
/// less likely: the positive root y of load (e^y - 1) = servers y.
fn decay(load: f64, servers: usize) -> f64 {
    let too_large = |y: f64| load * y.exp_m1() > servers as f64 * y;
    let mut high = 1.0;
    while !too_large(high) {
        high *= 2.0;
    }
    let mut low = 0.0;
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        if too_large(middle) {
            high = middle;
        } else {
            low = middle;
        }
    }
    high
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Erlang's formula for one server, at loads where it is accurate.
    fn erlang(load: f64, wait: f64) -> f64 {
        let mut sum = 0.0;
        for i in 0..=wait.floor() as i32 {
            let x = load * (f64::from(i) - wait);
            let factorial: f64 = (1..=i).map(f64::from).product();
            sum += x.powi(i) / factorial * (-x).exp();
        }
        1.0 - (1.0 - load) * sum
    }

    #[test]
    fn one_server_matches_erlang() {
        for load in [0.2, 0.5, 0.8, 0.95] {
            for wait in [0.0, 0.3, 1.0, 2.5, 6.0] {
                let found = tail(1.0, 1, load, 1.0 + wait);
                let expected = erlang(load, wait);
                assert!(
                    (found - expected).abs() < 1e-9,
                    "{load} {wait} {found} {expected}"
                );
            }
        }
    }

    #[test]
    fn mean_number_in_system_matches_pollaczek_khinchine() {
        for load in [0.3, 0.9, 0.99] {
            let at_most = in_system_at_most(load, 1);
            let mean: f64 = at_most.iter().map(|p| 1.0 - p).sum();
            let expected = load + load * load / (2.0 * (1.0 - load));
            assert!(
                (mean / expected - 1.0).abs() < 1e-6,
                "{load} {mean} {expected}"
            );
        }
    }

    #[test]
    fn mean_busy_servers_equal_the_offered_load() {
        for (load, servers) in [(1.5, 2), (3.9, 4), (15.0, 16), (60.0, 64)] {
            let at_most = in_system_at_most(load, servers);
            let busy: f64 = at_most.iter().take(servers).map(|p| 1.0 - p).sum();
            assert!((busy / load - 1.0).abs() < 1e-8, "{load} {servers} {busy}");
        }
    }
}
