//! Other densities for the quantiles of sizes: importance sampling without a model of the sizes.

use super::WorkloadError;

/// A density on [0, 1) that is constant between edges.
#[derive(Clone, Debug, PartialEq)]
pub struct Density {
    /// From 0 to 1.
    edges: Vec<f64>,
    /// One for each part; they integrate to 1.
    heights: Vec<f64>,
    /// The distribution function at the edges.
    cumulative: Vec<f64>,
}

impl Density {
    /// `edges` rise from 0 to 1, with a positive height for each part between two; heights are scaled to
    /// integrate to 1.
    pub fn new(edges: Vec<f64>, heights: &[f64]) -> Result<Self, WorkloadError> {
        let rises = edges.windows(2).all(|pair| pair[0] < pair[1]);
        let whole = edges.first() == Some(&0.0) && edges.last() == Some(&1.0);
        let positive = heights.iter().all(|height| *height > 0.0 && height.is_finite());
        if !(rises && whole && positive && heights.len() + 1 == edges.len()) {
            return Err(WorkloadError::Density);
        }
        let areas = edges.windows(2).zip(heights).map(|(pair, height)| (pair[1] - pair[0]) * height);
        let mut cumulative = vec![0.0];
        let mut total = 0.0;
        cumulative.extend(areas.map(|area| {
            total += area;
            total
        }));
        cumulative.iter_mut().for_each(|upto| *upto /= total);
        Ok(Self { edges, heights: heights.iter().map(|height| height / total).collect(), cumulative })
    }

    /// The quantile at which a uniform number `v` lands, below 1, and the logarithm of the uniform density
    /// over this one there.
    pub fn draw(&self, v: f64) -> (f64, f64) {
        let part = self.cumulative.partition_point(|upto| *upto <= v).clamp(1, self.heights.len()) - 1;
        let height = self.heights[part];
        let quantile = self.edges[part] + (v - self.cumulative[part]) / height;
        (quantile.clamp(self.edges[part], self.edges[part + 1].next_down()), -libm::log(height))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_have_the_density_and_its_weight() {
        // A tenth of the quantiles gets half of the draws.
        let density = Density::new(vec![0.0, 0.9, 1.0], &[0.5 / 0.9, 5.0]).unwrap();
        let (first, log_ratio) = density.draw(0.0);
        assert!(first == 0.0 && (log_ratio - libm::log(1.8)).abs() < 1e-12);
        let (quantile, log_ratio) = density.draw(0.75);
        assert!((quantile - 0.95).abs() < 1e-12 && (log_ratio + libm::log(5.0)).abs() < 1e-12);
        assert!(density.draw(1.0 - f64::EPSILON / 2.0).0 < 1.0);
        // The weights have mean 1 under the density.
        let weight = |v: u32| libm::exp(density.draw((f64::from(v) + 0.5) / 1000.0).1);
        assert!(((0..1000).map(weight).sum::<f64>() / 1000.0 - 1.0).abs() < 1e-9);
    }

    #[test]
    fn what_is_no_density_is_refused() {
        for (edges, heights) in [
            (vec![0.0, 1.0], vec![0.0]),
            (vec![0.0, 0.5], vec![1.0]),
            (vec![0.0, 0.5, 0.5, 1.0], vec![1.0; 3]),
            (vec![0.0, 1.0], vec![1.0, 1.0]),
            (vec![], vec![]),
        ] {
            assert_eq!(Density::new(edges, &heights), Err(WorkloadError::Density));
        }
    }
}
