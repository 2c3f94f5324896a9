//! Receivers that lie and clocks that are set: what every controller makes of them.
//!
//! A receiver that acknowledges what was sent and has not arrived (RFC 9000, section 21.4) cannot be told from a short path.

use super::*;

/// Ten seconds over a link of this rate; from the fifth on, something is wrong with the receiver.
const LINK: Link = Link {
    rate: Rate::from_megabits_per_second(10),
    queue: Duration::from_milliseconds(100),
    free: Time::ZERO,
};
const BEGIN: Time = Time::from_milliseconds(5_000);
const END: Time = Time::from_milliseconds(10_000);

/// What a receiver makes of an answer, with the name of the case.
type Lie = (&'static str, fn(&mut Random, &mut Answer));

/// Bits that leave each second from `BEGIN` to `END`.
fn rate(algorithm: &str, wrong: impl FnOnce(&mut Network)) -> f64 {
    let mut network = Network { link: Some(LINK), ..Network::new(algorithm, CALM, 1) };
    network.sender.write(u64::MAX / 2);
    network.run_until(BEGIN);
    wrong(&mut network);
    network.run_until(END);
    assert!(network.events < 20 * (network.sent + 1000), "{algorithm} spins: {} events", network.events);
    let departures = network.departures.iter().filter(|(time, ..)| *time >= BEGIN);
    departures.map(|(_, _, length)| 8 * length).sum::<u64>() as f64 / (END - BEGIN).as_seconds()
}

/// Controllers whose rate is not what they are told.
fn that_listen() -> impl Iterator<Item = &'static str> {
    Algorithm::over_paths().into_iter().filter(|(_, needs)| !needs.rate).map(|(name, _)| name)
}

/// No more than half as much again as an honest receiver gets, or as the link carries.
fn assert_no_flood(algorithm: &str, case: &str, honest: f64, found: f64) {
    let bound = 1.5 * honest.max(LINK.rate.bits_per_second() as f64);
    assert!(found < bound, "{algorithm}, {case}: {found:.3e} bit/s, honestly {honest:.3e}");
}

#[test]
fn a_clock_that_is_set_starves_nobody_and_floods_nobody() {
    const HOUR: Duration = Duration::from_milliseconds(3_600_000);
    for algorithm in that_listen() {
        let honest = rate(algorithm, |_| {});
        let ahead = rate(algorithm, |network| network.ahead = HOUR);
        let back = rate(algorithm, |network| {
            network.lie = |_, answer| answer.arrival = answer.arrival.saturating_sub(HOUR.nanoseconds());
        });
        for (case, found) in [("ahead", ahead), ("back", back)] {
            assert_no_flood(algorithm, case, honest, found);
            assert!(found > 0.3 * honest, "{algorithm}, {case}: {found:.3e} of {honest:.3e} bit/s");
        }
    }
}

#[test]
fn what_a_receiver_invents_floods_nobody() {
    let lies: [Lie; 6] = [
        ("arrivals", |random, answer| answer.arrival = (random.next() * 1e19) as u64),
        ("held", |random, answer| answer.held = (random.next() * 1e11) as u64),
        ("counts", |random, answer| {
            let mut count = || (random.next() * f64::from(u32::MAX)) as u32;
            answer.packets = PacketCounts { all: count(), ect0: count(), ect1: count(), marked: count() };
        }),
        ("numbers", |random, answer| {
            answer.largest += 1_000_000 + (random.next() * 1e6) as u64;
            answer.ranges = ranges(0..answer.largest + 1);
        }),
        ("ages", |random, answer| {
            for arrival in &mut answer.arrivals {
                arrival.age = (random.next() * f64::from(u32::MAX)) as u32;
            }
        }),
        ("note", |random, answer| {
            let bytes: Vec<u8> = (0..64).map(|_| (random.next() * 256.0) as u8).collect();
            answer.note = Note::new(&bytes).unwrap();
        }),
    ];
    for algorithm in that_listen() {
        let honest = rate(algorithm, |_| {});
        for (case, lie) in lies {
            let found = rate(algorithm, |network| network.lie = lie);
            assert_no_flood(algorithm, case, honest, found);
        }
    }
}
