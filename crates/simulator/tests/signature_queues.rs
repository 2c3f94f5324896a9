//! The queue at which laws of the data centre come to rest behind a bottleneck, by what their papers say.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use trialwise_congestion::Algorithm;
use trialwise_simulator::{
    Fabric, FlowSpecification, NodeId, PortId, Settings, Snapshot, set_controller, simulate_observed,
};
use trialwise_units::{Bytes, Duration, Rate, Time};

const LINE: Rate = Rate::from_megabits_per_second(100_000);
/// Of the empty path: three links of 1 us there and back, and three packets of 1000 bytes.
const ROUND_TRIP: f64 = 6.24;
/// Bytes in a microsecond at that rate.
const PER_MICROSECOND: f64 = 12_500.0;

/// Long flows, one from each sender, over a dumbbell once they are at rest: the mean queue in bytes, Jain's index of what came through.
fn rest(controller: &str, parameters: &[(&str, &str)], senders: u32) -> (f64, f64) {
    let fabric = Fabric::new(format!("dumbbell:{senders}x1,100Gbit/s,1us").parse().unwrap()).unwrap();
    let mut algorithm = Algorithm::named(controller, LINE).unwrap();
    for (key, text) in parameters {
        set_controller(&mut algorithm, key, text).unwrap();
    }
    let (begin, stop) = (Time::from_milliseconds(5), Time::from_milliseconds(8));
    let settings = Settings {
        stop: Some(stop),
        sample_interval: Some(Duration::from_nanoseconds(4100)),
        ..Settings::for_algorithm(&algorithm, LINE)
    };
    let flow = |sender: u32| {
        let (from, to) = (NodeId::new(sender), NodeId::new(senders));
        let start = Time::from_nanoseconds(1000 * u64::from(sender));
        FlowSpecification::new(sender.into(), from, to, Bytes::new(1 << 30), start)
    };
    let flows: Vec<_> = (0..senders).map(flow).collect();
    let (mut queues, mut arrived) = (Vec::new(), Vec::new());
    let mut observer = |snapshot: &Snapshot<'_>| {
        if snapshot.now() > begin {
            queues.push(snapshot.port(PortId::new(2 * (senders + 1))).0.get() as f64);
            arrived.push(snapshot.flows().map(|flow| flow.acknowledged.get() as f64).collect::<Vec<_>>());
        }
    };
    simulate_observed(&fabric, &settings, &algorithm, &flows, &mut observer).unwrap();
    let shares: Vec<_> =
        arrived.last().unwrap().iter().zip(&arrived[0]).map(|(last, first)| last - first).collect();
    let (sum, squares) = (shares.iter().sum::<f64>(), shares.iter().map(|share| share * share).sum::<f64>());
    (queues.iter().sum::<f64>() / queues.len() as f64, sum * sum / squares / shares.len() as f64)
}

/// Where a window rests at γ (w/Γ + β) + (1 − γ) w, w (1 − 1/Γ) = β. By telemetry Γ = (q + Cτ)/(Cτ), and without headers all windows
/// together are q + Cτ, so that the queue is the sum of all β (NSDI 2022, appendix A). With them, and in a round trip of τ' with its
/// acknowledgements, h Σw = q + Cτ': then q² + (Cτ' − hΣβ) q = hΣβ Cτ. By delay Γ = (q + Cτ')/(Cτ): q = hΣβ − C (τ' − τ).
#[test]
fn the_queue_of_powertcp_is_the_sum_of_its_increases() {
    let empty = ROUND_TRIP * PER_MICROSECOND;
    for (name, senders, header, acknowledgement) in
        [("powertcp", 2, 90.0, 88.0), ("powertcp", 8, 90.0, 88.0), ("theta_powertcp", 4, 56.0, 60.0)]
    {
        let sum = (1.0 + header / 1000.0) * f64::from(senders) * empty / 20.0;
        let later = 3.0 * (header + acknowledgement);
        let linear = empty + later - sum;
        let expected = if name == "powertcp" {
            (linear * linear / 4.0 + sum * empty).sqrt() - linear / 2.0
        } else {
            sum - later
        };
        let (queue, fairness) = rest(name, &[("flows", "20")], senders);
        assert!((queue / expected - 1.0).abs() < 0.06, "{name}, {senders} flows: {queue}, not {expected}");
        assert!(fairness > 0.99, "{name}: {fairness}");
    }
}

/// The delay comes to rest at the target of the window that it leaves, `q/C + τ = base + 2 h + α/√w + β` (SIGCOMM 2020, section 3.5).
#[test]
fn the_delay_of_swift_is_the_target_of_its_window() {
    for senders in [2, 8] {
        let (queue, fairness) = rest("swift", &[], senders);
        let delay = ROUND_TRIP + queue / PER_MICROSECOND;
        let window = delay * PER_MICROSECOND / 1000.0 / f64::from(senders);
        let alpha = 100.0 / (0.1_f64.sqrt().recip() - 0.1);
        let target = 20.0 + 2.0 * 3.053 + (alpha / window.sqrt() - alpha / 10.0).max(0.0);
        assert!((delay / target - 1.0).abs() < 0.1, "{senders} flows: {delay} us, not {target}");
        assert!(fairness > 0.95, "{senders} flows: {fairness}");
    }
}

/// Beyond the marks windows only shrink where the delay is beyond the target, and below it they only grow by `eta`.
#[test]
fn the_queueing_delay_of_nscc_ends_at_its_target() {
    for senders in [4, 16] {
        let (queue, _) = rest("nscc", &[], senders);
        let delay = queue / PER_MICROSECOND;
        assert!((delay / ROUND_TRIP - 1.0).abs() < 0.15, "{senders} flows: {delay} us, not {ROUND_TRIP}");
    }
}
