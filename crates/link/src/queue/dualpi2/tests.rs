use trialwise_units::Bytes;

use super::*;
use crate::queue::testing::Numbered;

type Dropped = Vec<(u64, Cause)>;

fn at(microseconds: u64) -> Time {
    Time::from_nanoseconds(1000 * microseconds)
}

/// A queue with a clock in microseconds, and what it dropped.
struct Bench {
    queue: DualPi2<Numbered>,
    drops: Drops<Numbered>,
}

impl Bench {
    fn new(parameters: DualPi2Parameters) -> Self {
        Self { queue: DualPi2::new(parameters, Limit::NONE, Seed::new(1)), drops: Drops::default() }
    }

    fn rfc() -> Self {
        Self::new(DualPi2Parameters::default())
    }

    fn enqueue(&mut self, microseconds: u64, ecn: Ecn, number: u64) {
        let packet = Numbered { number, flow: 0, ecn, size: 1500 };
        let arrival = at(microseconds);
        self.queue.enqueue(Waiting { packet, size: Bytes::new(1500), arrival }, &mut self.drops);
    }

    fn dequeue(&mut self, microseconds: u64) -> Option<Numbered> {
        let found = self.queue.dequeue(at(microseconds), &mut self.drops);
        found.map(|waiting| waiting.packet)
    }

    fn take_drops(&mut self) -> Dropped {
        std::iter::from_fn(|| self.drops.take()).map(|each| (each.packet.number, each.cause)).collect()
    }
}

const L: Ecn = Ecn::Capable1;
const CE: Ecn = Ecn::CongestionExperienced;

#[test]
fn the_numbers_are_those_of_appendix_a_1() {
    let DualPi2Parameters { update, alpha, beta, .. } = DualPi2Parameters::default();
    assert_eq!(update, Duration::from_milliseconds(15));
    assert!((alpha - 0.15).abs() < 1e-12 && (beta - 3.0).abs() < 1e-12, "{alpha} {beta}");
    // Round trips of 30 ms: every 10 ms, 0.1 * 0.01 / 0.03^2 = 1.111, 0.3 / 0.03 = 10.
    let near =
        DualPi2Parameters::for_round_trips(Duration::from_milliseconds(15), Duration::from_milliseconds(30));
    assert_eq!(near.update, Duration::from_milliseconds(10));
    assert!((near.alpha - 10.0 / 9.0).abs() < 1e-12 && (near.beta - 10.0).abs() < 1e-12);
}

#[test]
fn l_marks_by_itself_along_its_ramp_and_on_linux_at_a_step() {
    let microseconds = [800, 900, 1000, 1100, 1200, 5000].map(Duration::from_microseconds);
    let rfc = microseconds.map(|delay| DualPi2Parameters::default().native(delay));
    for (found, expected) in rfc.iter().zip([0.0, 0.25, 0.5, 0.75, 1.0, 1.0]) {
        assert!((found - expected).abs() < 1e-12, "{found} {expected}");
    }
    let linux = microseconds.map(|delay| DualPi2Parameters::LINUX.native(delay));
    assert_eq!(linux, [0.0, 0.0, 0.0, 1.0, 1.0, 1.0]);
}

#[test]
fn a_packet_that_waits_alone_is_spared() {
    let mut bench = Bench::rfc();
    bench.enqueue(0, L, 0);
    assert_eq!(bench.dequeue(9000).unwrap().ecn, L);
    (1..3).for_each(|number| bench.enqueue(10_000, L, number));
    assert_eq!(bench.dequeue(19_000).unwrap().ecn, CE, "another waits behind it");
    assert_eq!(bench.dequeue(19_000).unwrap().ecn, L);
}

#[test]
fn marks_and_drops_go_by_the_square_and_by_twice_the_root() {
    // p' of 0.2: p_C = p'^2 = 0.04, p_CL = 2 p' = 0.4.
    const COUNT: u64 = 50_000;
    let mut bench = Bench::rfc();
    // Updates leave p' alone where alpha and beta are zero.
    (bench.queue.parameters.alpha, bench.queue.parameters.beta) = (0.0, 0.0);
    bench.queue.probability = 0.2;
    let mut count_marks = |ecn| {
        let mut marks = 0;
        for number in 0..COUNT {
            bench.enqueue(0, ecn, number);
            marks += u64::from(bench.dequeue(0).is_some_and(|packet| packet.ecn == CE));
        }
        (marks, bench.take_drops().len() as u64)
    };
    let deviation = (COUNT as f64 * 0.04 * 0.96).sqrt();
    let is_squared = |count: u64| (count as f64 - COUNT as f64 * 0.04).abs() < 4.0 * deviation;
    let (marks, drops) = count_marks(Ecn::NotCapable);
    assert!(marks == 0 && is_squared(drops), "{drops}");
    let (marks, drops) = count_marks(Ecn::Capable0);
    assert!(drops == 0 && is_squared(marks), "{marks}");
    // Evenly: two of five, whatever the generator says.
    let (marks, drops) = count_marks(L);
    assert!(drops == 0 && marks.abs_diff(COUNT * 2 / 5) <= 1, "{marks}");
}

#[test]
fn in_overload_l_is_dropped_as_c_is_and_the_rest_is_marked() {
    // p' of 0.6: p_CL = 1.2, and p_C = 0.36.
    const COUNT: u64 = 20_000;
    for ecn in [L, Ecn::Capable0] {
        let mut bench = Bench::rfc();
        (bench.queue.parameters.alpha, bench.queue.parameters.beta) = (0.0, 0.0);
        bench.queue.probability = 0.6;
        for number in 0..COUNT {
            bench.enqueue(0, ecn, number);
            if let Some(packet) = bench.dequeue(0) {
                assert_eq!(packet.ecn, if ecn == L { CE } else { ecn });
            }
        }
        let drops = bench.take_drops();
        let expected = COUNT as f64 * 0.36;
        let distance = (drops.len() as f64 - expected).abs();
        assert!(distance < 4.0 * (expected * 0.64).sqrt(), "{}", drops.len());
        assert!(drops.iter().all(|(_, cause)| *cause == Cause::Managed));
    }
}

#[test]
fn just_below_overload_nothing_of_l_is_dropped() {
    let mut bench = Bench::rfc();
    (bench.queue.parameters.alpha, bench.queue.parameters.beta) = (0.0, 0.0);
    bench.queue.probability = 0.499_999;
    (0..10_000).for_each(|number| {
        bench.enqueue(0, L, number);
        assert!(bench.dequeue(0).is_some());
    });
    assert_eq!(bench.take_drops(), []);
}

#[test]
fn c_has_its_share_while_both_wait_and_all_that_l_leaves() {
    for (parameters, share) in [(DualPi2Parameters::default(), 16), (DualPi2Parameters::LINUX, 10)] {
        let mut bench = Bench::new(parameters);
        (bench.queue.parameters.alpha, bench.queue.parameters.beta) = (0.0, 0.0);
        (0..1600).for_each(|number| bench.enqueue(0, L, number));
        (0..200).for_each(|number| bench.enqueue(0, Ecn::NotCapable, number));
        let classic = (0..1600).filter(|_| bench.dequeue(0).unwrap().ecn == Ecn::NotCapable).count();
        assert_eq!(classic, 1600 / share);
    }
    let mut bench = Bench::rfc();
    (0..3).for_each(|number| bench.enqueue(0, Ecn::NotCapable, number));
    (0..3).for_each(|number| assert_eq!(bench.dequeue(0).unwrap().number, number));
}

#[test]
fn packets_are_sorted_by_the_last_bit_of_their_field() {
    let mut bench = Bench::rfc();
    for (number, ecn) in (0..).zip([Ecn::NotCapable, Ecn::Capable0, L, CE]) {
        bench.enqueue(0, ecn, number);
    }
    let order: Vec<u64> = std::iter::from_fn(|| bench.dequeue(0)).map(|packet| packet.number).collect();
    assert_eq!(order, [2, 3, 0, 1]);
}

#[test]
fn the_controller_integrates_the_delay_of_c_and_its_change() {
    // A packet in C that waits: delays of 15, 30 and 45 ms at the updates at 15, 30, 45 ms.
    let mut bench = Bench::rfc();
    bench.enqueue(0, Ecn::NotCapable, 0);
    let mut expected = 0.0;
    for (milliseconds, before) in [(15.0, 0.0), (30.0, 15.0), (45.0, 30.0)] {
        expected += 0.15 * (milliseconds - 15.0) / 1e3 + 3.0 * (milliseconds - before) / 1e3;
        bench.queue.update_through(at((milliseconds * 1e3) as u64));
        assert!((bench.queue.base_probability() - expected).abs() < 1e-12, "{milliseconds}");
    }
    // What waits in L moves it only in overload.
    let mut bench = Bench::rfc();
    bench.enqueue(0, L, 0);
    bench.queue.update_through(Time::from_milliseconds(45));
    assert_eq!(bench.queue.base_probability(), 0.0);
    bench.queue.probability = 0.5;
    bench.queue.update_through(Time::from_milliseconds(60));
    assert!((bench.queue.base_probability() - 0.5 - 0.15 * 0.045 - 3.0 * 0.06).abs() < 1e-12);
}

#[test]
fn a_long_rest_takes_p_down_by_the_same_step_each_time_and_is_cheap() {
    let mut bench = Bench::rfc();
    bench.enqueue(0, L, 0);
    assert!(bench.dequeue(0).is_some());
    bench.queue.probability = 0.4;
    // 100 updates of 0.15 * 15 ms each.
    bench.queue.update_through(Time::from_milliseconds(1500));
    assert!((bench.queue.base_probability() - (0.4 - 0.225)).abs() < 1e-9);
    bench.queue.update_through(Time::from_milliseconds(1_000_000_000));
    assert_eq!(bench.queue.base_probability(), 0.0);
    let next = bench.queue.next_update.unwrap().milliseconds();
    assert_eq!((next % 15, next > 1_000_000_000, next <= 1_000_000_015), (0, true, true));
}

#[test]
fn one_limit_holds_for_both_queues() {
    let limit = Limit::packets(3);
    let queue = DualPi2::new(DualPi2Parameters::default(), limit, Seed::new(1));
    let mut bench = Bench { queue, drops: Drops::default() };
    for (number, ecn) in (0..).zip([L, Ecn::NotCapable, L, L, Ecn::Capable0]) {
        bench.enqueue(0, ecn, number);
    }
    assert_eq!(bench.take_drops(), [(3, Cause::Overflow), (4, Cause::Overflow)]);
    assert_eq!(bench.queue.backlog().packets, 3);
}
