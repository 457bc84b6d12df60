//! CPU use as a function of load.

use plimsoll_model::Share;

/// CPU use by load, where load is the rate as a fraction of the saturation
/// rate: piecewise linear from (0, 0) to full load.
#[derive(Debug, Clone, PartialEq)]
pub struct Curve(Vec<(f64, f64)>);

impl Curve {
    pub fn linear() -> Curve {
        Curve(vec![(0.0, 0.0), (1.0, 1.0)])
    }

    /// A curve through points (load, CPU use), both as fractions from 0 to 1.
    /// It starts at (0, 0).
    ///
    /// `None` unless loads ascend to 1 and CPU use never decreases.
    pub fn through(points: &[(f64, f64)]) -> Option<Curve> {
        let mut all = vec![(0.0, 0.0)];
        all.extend_from_slice(points);
        let rises = |w: &[(f64, f64)]| w[0].0 < w[1].0 && w[0].1 <= w[1].1;
        let full = all.last().is_some_and(|p| p.0 == 1.0 && p.1 <= 1.0);
        (full && all.windows(2).all(rises)).then_some(Curve(all))
    }

    /// CPU use below (or above) the diagonal up to one knee, then linear to (1,
    /// 1).
    pub fn bent(load: f64, cpu: f64) -> Option<Curve> {
        Curve::through(&[(load, cpu), (1.0, 1.0)])
    }

    /// Two hardware threads per core that together do `speed_up` times the work
    /// of one, with a scheduler that fills idle cores first: half of the CPU
    /// time does `1 / speed_up` of the work. `None` unless 1 < `speed_up` <= 2.
    pub fn smt(speed_up: f64) -> Option<Curve> {
        (speed_up > 1.0 && speed_up <= 2.0)
            .then(|| Curve::bent(1.0 / speed_up, 0.5))
            .flatten()
    }

    /// CPU use at a load; constant beyond full load.
    pub fn cpu(&self, load: f64) -> Share {
        let at =
            |w: &[(f64, f64)]| w[0].1 + (load - w[0].0) / (w[1].0 - w[0].0) * (w[1].1 - w[0].1);
        let piece = self.0.windows(2).find(|w| load <= w[1].0);
        let cpu = piece.map_or_else(|| self.0.last().map_or(0.0, |p| p.1), at);
        Share::new(cpu.clamp(0.0, 1.0)).unwrap_or(Share::ZERO)
    }

    /// The load at which CPU use reaches `cpu`; `None` if it never does.
    pub fn load(&self, cpu: Share) -> Option<f64> {
        let piece = self.0.windows(2).find(|w| cpu.get() <= w[1].1)?;
        let (low, high) = (piece[0], piece[1]);
        if high.1 == low.1 {
            return Some(low.0);
        }
        Some(low.0 + (cpu.get() - low.1) / (high.1 - low.1) * (high.0 - low.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn curve_and_its_inverse_agree() {
        let curves = [
            Curve::linear(),
            Curve::bent(0.85, 0.6).unwrap(),
            Curve::bent(0.44, 0.5).unwrap(),
            Curve::smt(1.27).unwrap(),
        ];
        for curve in curves {
            for percent in 1..=100 {
                let load = f64::from(percent) / 100.0;
                let back = curve.load(curve.cpu(load)).unwrap();
                assert!((back - load).abs() < 1e-12, "{curve:?} {load} {back}");
            }
        }
    }

    #[test]
    fn half_the_cpu_time_with_smt_does_more_than_half_of_the_work() {
        let curve = Curve::smt(1.27).unwrap();
        let half = curve.load(Share::new(0.5).unwrap()).unwrap();
        assert!((half - 1.0 / 1.27).abs() < 1e-12);
    }

    #[test]
    fn non_monotone_points_are_no_curve() {
        for bad in [
            &[][..],
            &[(0.5, 0.5)],
            &[(0.5, 0.7), (1.0, 0.6)],
            &[(0.5, 0.2), (0.4, 0.3), (1.0, 1.0)],
            &[(0.5, f64::NAN), (1.0, 1.0)],
            &[(1.0, 1.1)],
        ] {
            assert_eq!(Curve::through(bad), None, "{bad:?}");
        }
        assert_eq!(Curve::smt(0.9), None);
    }

    #[test]
    fn unreachable_cpu_use_has_no_load() {
        let curve = Curve::through(&[(1.0, 0.7)]).unwrap();
        assert_eq!(curve.load(Share::new(0.8).unwrap()), None);
        assert_eq!(curve.cpu(1.5), Share::new(0.7).unwrap());
    }
}
