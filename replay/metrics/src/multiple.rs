//! Many tests at once.

/// p values corrected for how many there are, so that the chance of any false finding among them
/// stays at the level: Holm's (Holm 1979, <https://www.jstor.org/stable/4615733>). The smallest is
/// multiplied by their number, the next by one less, and so on; none is below the one before it,
/// and none above 1. In the order in which they were given.
pub fn holm(p: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p.len()).collect();
    order.sort_by(|&a, &b| p[a].total_cmp(&p[b]));
    let mut corrected = vec![0.0; p.len()];
    let mut least: f64 = 0.0;
    for (rank, &at) in order.iter().enumerate() {
        least = least.max((p[at] * (p.len() - rank) as f64).min(1.0));
        corrected[at] = least;
    }
    corrected
}
