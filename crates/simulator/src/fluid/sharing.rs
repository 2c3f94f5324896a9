//! One link that all flows share equally: processor sharing in virtual time.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::Job;

/// Processor sharing. Virtual time grows by the service that each flow in progress gets, so a flow leaves when
/// virtual time has grown by its own service, whatever comes and goes meanwhile: n flows cost O(n log n).
#[derive(Debug, Default)]
pub(super) struct ProcessorSharing {
    /// The virtual time at which each flow in progress leaves (positive, so its bits have its order), and the
    /// flow.
    present: BinaryHeap<Reverse<(u64, u32)>>,
}

impl ProcessorSharing {
    /// Tells when each job, in order of start, leaves a link of `rate` bits per picosecond.
    pub(super) fn run(&mut self, jobs: &[Job], rate: f64, mut departs: impl FnMut(usize, f64)) {
        let (mut now, mut served) = (0.0, 0.0);
        for (place, job) in jobs.iter().enumerate() {
            (now, served) = self.leave_until(job.start, now, served, &mut departs);
            served += match self.present.len() {
                // Virtual time begins again with every busy period: its digits are kept for small flows.
                0 => -served,
                present => (job.start - now) / present as f64,
            };
            now = job.start;
            self.present.push(Reverse(((served + job.work / rate).to_bits(), place as u32)));
        }
        self.leave_until(f64::INFINITY, now, served, &mut departs);
    }

    /// Lets go those that leave until `time`; gives the time and the virtual time of the last.
    fn leave_until(
        &mut self,
        time: f64,
        mut now: f64,
        mut served: f64,
        departs: &mut impl FnMut(usize, f64),
    ) -> (f64, f64) {
        while let Some(Reverse((bits, place))) = self.present.peek().copied() {
            let leaves = f64::from_bits(bits);
            let end = now + (leaves - served) * self.present.len() as f64;
            if end > time {
                break;
            }
            self.present.pop();
            (now, served) = (end, leaves);
            departs(place as usize, end);
        }
        (now, served)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn leave(jobs: &[(f64, f64)]) -> Vec<f64> {
        let jobs: Vec<_> = jobs.iter().map(|(start, work)| Job { start: *start, work: *work }).collect();
        let mut ends = vec![0.0; jobs.len()];
        ProcessorSharing::default().run(&jobs, 2.0, |place, end| ends[place] = end);
        ends
    }

    #[test]
    fn flows_that_meet_share() {
        assert_eq!(leave(&[(5.0, 20.0)]), [15.0]);
        // Alone until 4 (8 of 20 done), then half each: the second needs 10 and takes 20, the first 12.
        assert_eq!(leave(&[(0.0, 20.0), (4.0, 20.0)]), [16.0, 20.0]);
        assert_eq!(leave(&[(0.0, 6.0), (0.0, 6.0), (0.0, 6.0), (100.0, 2.0)]), [9.0, 9.0, 9.0, 101.0]);
    }
}
