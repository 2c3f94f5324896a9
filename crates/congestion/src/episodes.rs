//! Which signals call for a reduction: one for each window, whether by loss or by mark.

use crate::{Acknowledgement, Loss};

/// Keeps a window from being cut twice for one congestion.
///
/// The driver knows when a loss opens an episode, but not that a mark has already cut this window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Episodes {
    cumulative: u64,
    marked_until: Option<u64>,
}

impl Episodes {
    /// Whether the marks of this acknowledgement call for a reduction: once for each window of data, and not
    /// while a loss of the same window is repaired (RFC 3168, section 6.1.2).
    pub(crate) fn marked(&mut self, acknowledgement: &Acknowledgement<'_>) -> bool {
        self.cumulative = self.cumulative.max(acknowledgement.cumulative);
        let later_window = self.marked_until.is_none_or(|end| self.cumulative > end);
        let reduces = acknowledgement.marked_packets > 0 && !acknowledgement.in_recovery && later_window;
        if reduces {
            self.marked_until = Some(acknowledgement.next_sequence);
        }
        reduces
    }

    /// Whether this loss calls for a reduction: the first of its episode, of what was sent after a mark cut
    /// the window.
    pub(crate) fn lost(&self, loss: &Loss) -> bool {
        loss.new_episode && self.marked_until.is_none_or(|end| self.cumulative >= end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{acknowledgement, loss};

    fn marked(cumulative: u64, next_sequence: u64) -> Acknowledgement<'static> {
        Acknowledgement { marked_packets: 1, ..acknowledgement(cumulative, next_sequence) }
    }

    #[test]
    fn marks_of_one_window_count_once() {
        let mut episodes = Episodes::default();
        assert!(!episodes.marked(&acknowledgement(1000, 10_000)));
        assert!(episodes.marked(&marked(2000, 10_000)));
        assert!(!episodes.marked(&marked(10_000, 15_000)));
        assert!(episodes.marked(&marked(11_000, 15_000)));
    }

    #[test]
    fn a_loss_of_a_window_that_a_mark_has_cut_counts_not_again() {
        let mut episodes = Episodes::default();
        assert!(episodes.lost(&loss(true)));
        assert!(!episodes.lost(&loss(false)));
        episodes.marked(&marked(2000, 10_000));
        assert!(!episodes.lost(&loss(true)));
        episodes.marked(&acknowledgement(10_000, 20_000));
        assert!(episodes.lost(&loss(true)));
    }

    #[test]
    fn a_mark_in_recovery_counts_not() {
        let mut episodes = Episodes::default();
        assert!(!episodes.marked(&Acknowledgement { in_recovery: true, ..marked(1000, 2000) }));
    }
}
