//! Growth exponents: the slope of log y over log x.

/// Least-squares slope of log y over log x, or `None` for fewer than two different x.
pub(crate) fn exponent(points: &[(f64, f64)]) -> Option<f64> {
    let usable = points.iter().filter(|(x, y)| 0.0 < *x && 0.0 < *y);
    let logs: Vec<(f64, f64)> = usable.map(|(x, y)| (x.ln(), y.ln())).collect();
    let count = logs.len() as f64;
    let mean_x = logs.iter().map(|p| p.0).sum::<f64>() / count;
    let mean_y = logs.iter().map(|p| p.1).sum::<f64>() / count;
    let spread: f64 = logs.iter().map(|p| (p.0 - mean_x).powi(2)).sum();
    let joint: f64 = logs.iter().map(|p| (p.0 - mean_x) * (p.1 - mean_y)).sum();
    (0.0 < spread).then(|| joint / spread)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_power_law_gives_its_power() {
        let points: Vec<(f64, f64)> = (1..6)
            .map(|i| (f64::from(i), 3.0 * f64::from(i).powf(1.7)))
            .collect();
        assert!((exponent(&points).unwrap() - 1.7).abs() < 1e-12);
        assert_eq!(exponent(&points[..1]), None);
        assert_eq!(exponent(&[]), None);
    }
}
