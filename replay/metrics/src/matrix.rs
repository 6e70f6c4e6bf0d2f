//! Square matrices, row by row.

/// Inverts a matrix by Gauss-Jordan elimination with partial pivoting. `None` if it has no
/// inverse: a pivot is infinite, NaN, or not above `least`.
pub(crate) fn inverse(mut matrix: Vec<Vec<f64>>, least: f64) -> Option<Vec<Vec<f64>>> {
    let size = matrix.len();
    let mut inverse: Vec<Vec<f64>> = (0..size)
        .map(|i| (0..size).map(|j| f64::from(u8::from(i == j))).collect())
        .collect();
    for column in 0..size {
        let pivot = (column..size)
            .max_by(|&a, &b| matrix[a][column].abs().total_cmp(&matrix[b][column].abs()))?;
        let scale = matrix[pivot][column];
        if !scale.is_finite() || scale.abs() <= least {
            return None;
        }
        // The largest pivot loses the fewest digits.
        matrix.swap(column, pivot);
        inverse.swap(column, pivot);
        for cell in matrix[column].iter_mut().chain(&mut inverse[column]) {
            *cell /= scale;
        }
        let (matrix_row, inverse_row) = (matrix[column].clone(), inverse[column].clone());
        for row in (0..size).filter(|row| *row != column) {
            let factor = matrix[row][column];
            for (cell, pivot) in matrix[row].iter_mut().zip(&matrix_row) {
                *cell -= factor * pivot;
            }
            for (cell, pivot) in inverse[row].iter_mut().zip(&inverse_row) {
                *cell -= factor * pivot;
            }
        }
    }
    Some(inverse)
}
