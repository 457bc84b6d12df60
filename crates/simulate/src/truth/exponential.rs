//! M/M/k, first come, first served.
//!
//! With offered load a = lambda / mu and the probability C of having to wait
//! (Erlang's C formula), the waiting time is 0 or exponential with rate k mu -
//! lambda; the time in the system T is its sum with a service time:
//!
//! P(T > t) = e^(-mu t) (1 + C (1 - e^(-mu t (k - 1 - a))) / (k - 1 - a))
//!
//! Gross, Shortle, Thompson and Harris, Fundamentals of Queueing Theory, 4th
//! edition 2008, section 2.3; Kleinrock, Queueing Systems I, 1975, section 3.5.

/// The fraction of requests that take longer than `limit` seconds.
pub(super) fn tail(mean: f64, servers: u32, rate: f64, limit: f64) -> f64 {
    let load = rate * mean;
    let times = limit / mean;
    let x = times * (f64::from(servers) - 1.0 - load);
    // (1 - e^-x) / x, which is 1 at 0, times e^-times: in this order neither
    // factor overflows.
    let waiting = if x.abs() < 1e-9 {
        (-times).exp()
    } else {
        ((-times).exp() - (-times - x).exp()) / x
    };
    (-times).exp() + waits(servers, load) * times * waiting
}

/// Erlang's C formula, by the recursion for the B formula.
fn waits(servers: u32, load: f64) -> f64 {
    let blocked = (1..=servers).fold(1.0, |b, i| load * b / (f64::from(i) + load * b));
    let k = f64::from(servers);
    k * blocked / (k - load * (1.0 - blocked))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_server_has_exponential_tail() {
        for rate in [0.1_f64, 0.5, 0.9, 0.99] {
            for limit in [0.0, 0.5, 3.0, 40.0] {
                let expected = (-(1.0 - rate) * limit).exp();
                let found = tail(1.0, 1, rate, limit);
                assert!((found / expected - 1.0).abs() < 1e-9, "{rate} {limit}");
            }
        }
    }

    #[test]
    fn erlang_c_matches_tables() {
        // Two servers: C = 2 rho^2 / (1 + rho); the load is 2 rho.
        for rho in [0.1, 0.5, 0.9] {
            let expected = 2.0 * rho * rho / (1.0 + rho);
            assert!((waits(2, 2.0 * rho) - expected).abs() < 1e-12);
        }
    }

    #[test]
    fn formula_is_continuous_at_a_zero_denominator() {
        let at = |rate| tail(1.0, 4, rate, 5.0);
        assert!((at(3.0) / at(3.0 + 1e-6) - 1.0).abs() < 1e-5);
        assert!((at(3.0) / at(3.0 - 1e-6) - 1.0).abs() < 1e-5);
    }
}
