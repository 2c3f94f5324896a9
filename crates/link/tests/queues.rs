//! Published behaviour of managed queues in a closed loop: a sender that halves its window at a loss or a
//! mark.

mod common;

use std::collections::VecDeque;

use common::{Numbered, no_file, packet};
use trialwise_link::{Ecn, Fate, Link, LinkSpec};
use trialwise_units::{Duration, Seed, Time};

const MILLISECOND: Duration = Duration::from_milliseconds(1);
const ROUND_TRIP: Duration = Duration::from_milliseconds(50);

/// A sender as in TCP Reno's congestion avoidance: one packet more in each round trip, half at a signal, once
/// in a round trip.
struct Sender {
    window: f64,
    in_flight: u64,
    halved: Time,
    ecn: Ecn,
}

impl Sender {
    fn acknowledged(&mut self, is_signal: bool, now: Time) {
        self.in_flight -= 1;
        if !is_signal {
            self.window += 1.0 / self.window;
        } else if now - self.halved > ROUND_TRIP * 2 {
            self.window = (self.window / 2.0).max(2.0);
            self.halved = now;
        }
    }
}

struct Outcome {
    /// Milliseconds in the queue of the packets that were delivered in the second half, sorted.
    delays: Vec<f64>,
    /// Share of the link's capacity that was used in the second half.
    utilisation: f64,
    signals: usize,
}

impl Outcome {
    fn quantile(&self, share: f64) -> f64 {
        self.delays[((self.delays.len() - 1) as f64 * share) as usize]
    }
}

/// Senders that share 12 Mbit/s.
struct Loop {
    link: Link<Numbered>,
    senders: Vec<Sender>,
    /// When each packet was pushed, by its number.
    pushed: Vec<Time>,
    /// When an acknowledgement comes, of which flow, and whether it signals congestion.
    acknowledgements: VecDeque<(Time, u64, bool)>,
    outcome: Outcome,
}

impl Loop {
    fn receive(&mut self, now: Time, is_counted: bool) {
        while let Some(exit) = self.link.pop(now) {
            let is_delivered = exit.fate == Fate::Delivered;
            let is_signal = !is_delivered || exit.packet.ecn == Ecn::CongestionExperienced;
            self.acknowledgements.push_back((exit.time + ROUND_TRIP, exit.packet.flow, is_signal));
            self.outcome.signals += usize::from(is_signal && is_counted);
            if is_delivered && is_counted {
                // Without the millisecond that the link takes to send it.
                let delay: Duration = exit.time - self.pushed[exit.packet.number as usize] - MILLISECOND;
                self.outcome.delays.push(delay.as_seconds() * 1e3);
            }
        }
    }

    fn acknowledge(&mut self, now: Time) {
        while let Some((time, flow, is_signal)) = self.acknowledgements.front().copied()
            && time <= now
        {
            self.acknowledgements.pop_front();
            self.senders[flow as usize].acknowledged(is_signal, now);
        }
    }

    fn send(&mut self, now: Time) {
        for (flow, sender) in self.senders.iter_mut().enumerate() {
            while (sender.in_flight as f64) < sender.window.floor() {
                let number = self.pushed.len() as u64;
                self.link.push(now, Numbered { flow: flow as u64, ecn: sender.ecn, ..packet(number, 1500) });
                self.pushed.push(now);
                sender.in_flight += 1;
            }
        }
    }
}

fn link(queue: &str) -> Link<Numbered> {
    let spec = LinkSpec::from_pairs([("rate", "12Mbit/s"), ("queue", queue)], &no_file).expect("a queue");
    spec.build(Time::ZERO, Seed::new(1), Some(ROUND_TRIP)).expect("a link")
}

/// What happens in the second half of a minute.
fn closed_loop(queue: &str, flows: usize, ecn: Ecn) -> Outcome {
    let sender = || Sender { window: 10.0, in_flight: 0, halved: Time::ZERO, ecn };
    let mut state = Loop {
        link: link(queue),
        senders: std::iter::repeat_with(sender).take(flows).collect(),
        pushed: Vec::new(),
        acknowledgements: VecDeque::new(),
        outcome: Outcome { delays: Vec::new(), utilisation: 0.0, signals: 0 },
    };
    for millisecond in 1..=60_000 {
        let now = Time::from_milliseconds(millisecond);
        state.receive(now, millisecond > 30_000);
        state.acknowledge(now);
        state.send(now);
    }
    let mut outcome = state.outcome;
    // One full packet in each millisecond.
    outcome.utilisation = outcome.delays.len() as f64 / 30_000.0;
    outcome.delays.sort_by(f64::total_cmp);
    outcome
}

#[test]
fn codel_holds_a_standing_queue_down_where_droptail_lets_it_stand() {
    let standing = closed_loop("droptail:packets=500", 2, Ecn::NotCapable);
    let managed = closed_loop("codel:packets=500", 2, Ecn::NotCapable);
    assert!(standing.quantile(0.5) > 200.0, "droptail: {}", standing.quantile(0.5));
    // RFC 8289 section 4: with long-lived flows the median delay tends to the target of 5 ms, under 10 ms in
    // general.
    assert!(managed.quantile(0.5) < 10.0, "codel: {}", managed.quantile(0.5));
    assert!(managed.utilisation > 0.9, "codel: {}", managed.utilisation);
}

#[test]
fn the_codel_of_mm_link_holds_the_queue_down_too() {
    let managed = closed_loop("codel-mahimahi:packets=500,target=5ms,interval=100ms", 2, Ecn::NotCapable);
    assert!(managed.quantile(0.5) < 15.0 && managed.utilisation > 0.9, "{}", managed.quantile(0.5));
}

#[test]
fn marks_do_what_drops_do() {
    let marked = closed_loop("codel:packets=500,ecn=yes", 2, Ecn::Capable0);
    assert!(marked.quantile(0.5) < 10.0 && marked.utilisation > 0.9, "{}", marked.quantile(0.5));
    assert!(marked.signals > 5);
}

#[test]
fn pie_keeps_the_latency_near_its_target() {
    let managed = closed_loop("pie:packets=500", 4, Ecn::NotCapable);
    let mean = managed.delays.iter().sum::<f64>() / managed.delays.len() as f64;
    // RFC 8033 section 4.2: QDELAY_REF of 15 ms.
    assert!((7.0..25.0).contains(&mean), "pie: mean {mean}");
    assert!(managed.utilisation > 0.9, "pie: {}", managed.utilisation);
}

#[test]
fn red_keeps_the_average_between_its_thresholds() {
    let managed = closed_loop("red:packets=500,min=10,max=30", 4, Ecn::NotCapable);
    let mean = managed.delays.iter().sum::<f64>() / managed.delays.len() as f64;
    // A packet takes a millisecond.
    assert!((5.0..30.0).contains(&mean), "red: mean {mean}");
    assert!(managed.utilisation > 0.9, "red: {}", managed.utilisation);
}

#[test]
fn fq_codel_gives_equal_shares_to_unequal_senders() {
    let mut link = link("fq_codel");
    let mut delivered = [0_u64; 3];
    for tick in 0..40_000 {
        let now = Time::from_milliseconds(tick / 2);
        while let Some(exit) = link.pop(now) {
            delivered[exit.packet.flow as usize] += u64::from(exit.fate == Fate::Delivered);
        }
        // 24 Mbit/s of flow 0, 8 of flow 1, and flow 2 sends ten packets a second.
        link.push(now, Numbered { flow: 0, ..packet(tick, 1500) });
        if tick % 3 == 0 {
            link.push(now, Numbered { flow: 1, ..packet(tick, 1500) });
        }
        if tick % 200 == 0 {
            link.push(now, Numbered { flow: 2, ..packet(tick, 1500) });
        }
    }
    assert!(delivered[0].abs_diff(delivered[1]) < delivered[0] / 20, "{delivered:?}");
    assert!(delivered[2] >= 199, "{delivered:?}");
    assert!(delivered.iter().sum::<u64>() > 19_900, "{delivered:?}");
}

/// Packets that 12 Mbit/s carry of a flood of ECT(1) at so many in a millisecond, and of C traffic at one in each, in the second half of
/// a minute.
fn flooded(queue: &str, flood: u64) -> [usize; 2] {
    let mut link = link(queue);
    let (mut number, mut carried) = (0, [0; 2]);
    for millisecond in 1..=60_000 {
        let now = Time::from_milliseconds(millisecond);
        for (flow, count, ecn) in [(0, flood, Ecn::Capable1), (1, 1, Ecn::NotCapable)] {
            for _ in 0..count {
                link.push(now, Numbered { flow, ecn, ..packet(number, 1500) });
                number += 1;
            }
        }
        while let Some(exit) = link.pop(now) {
            let counts = exit.fate == Fate::Delivered && millisecond > 30_000;
            carried[exit.packet.flow as usize] += usize::from(counts);
        }
    }
    carried
}

#[test]
fn a_flood_that_answers_no_marks_leaves_dualpi2s_classic_queue_its_share() {
    for (queue, share) in [("dualpi2", 16), ("dualpi2-linux", 10), ("dualpi2:share=25%", 4)] {
        // Twice the link. A greater flood would have the drops of overload leave C less than its share.
        let [low, classic] = flooded(queue, 2);
        assert!(low + classic >= 29_400, "{queue}: {low} and {classic}");
        assert!((classic + 20) * share >= low + classic, "{queue}: {classic} beside {low}");
    }
}
