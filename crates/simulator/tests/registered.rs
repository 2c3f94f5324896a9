//! What a line in the register of controllers gives: the tests' own controller has one, and nothing else.

use std::ops::ControlFlow;

use trialwise_congestion::Algorithm;
use trialwise_link::LinkSpec;
use trialwise_protocol::load::Load;
use trialwise_protocol::scheme::{IpVersion, Marking, Scheme};
use trialwise_simulator::path::{Direction, PathFlow, SimulatedPath};
use trialwise_simulator::{
    Configuration, Fabric, FlowSpecification, Mode, NodeId, controller_parameters, simulate,
};
use trialwise_units::{Bytes, Rate, Seed, Time};

const LINE: Rate = Rate::from_megabits_per_second(100_000);

#[test]
fn it_is_simulated_with_its_settings() {
    let fabric = Fabric::new("dumbbell:1x1,100Gbit/s,1us".parse().unwrap()).unwrap();
    let took = |segments: &'static str| {
        let own = [("segments", segments)];
        let configuration =
            Configuration::new(&fabric, Mode::Clean, Seed::new(1), "specimen", own, []).unwrap();
        let flow = FlowSpecification::new(0, NodeId::new(0), NodeId::new(1), Bytes::new(200_000), Time::ZERO);
        let outcome = simulate(&fabric, &configuration.settings, &configuration.algorithm, &[flow]).unwrap();
        assert_eq!(outcome.unfinished(), 0);
        outcome.end
    };
    // 200 segments at one a round trip, and at ten.
    assert!(took("1").picoseconds() > 8 * took("10").picoseconds());
    let specimen = Algorithm::named("specimen", LINE).unwrap();
    assert_eq!(controller_parameters(&specimen), ["segments"]);
    let refused = Configuration::new(&fabric, Mode::Clean, Seed::new(1), "specimen", [("segment", "1")], []);
    assert_eq!(refused.unwrap_err().to_string(), "specimen has no parameter \"segment\": it has segments");
}

#[test]
fn it_is_a_controller_of_the_udp_transport_over_simulated_paths() {
    let link = [("rate", "12Mbit/s"), ("delay", "28ms"), ("queue", "droptail:packets=100")];
    let none = |path: &str| Err(format!("{path} is not read"));
    let link = LinkSpec::from_pairs(link, &none).unwrap();
    let path = SimulatedPath { forward: link.clone(), backward: link, seed: Seed::new(1), interval: None };
    let flow = PathFlow {
        scheme: Scheme::named("specimen", 1500, IpVersion::Four, Marking::Declared).unwrap(),
        congestion: "specimen".to_owned(),
        load: Load::read("bulk", &|_| Err("no file".to_owned())).unwrap(),
        load_text: "bulk".to_owned(),
        direction: Direction::Forward,
        start: Time::ZERO,
        stop: Time::from_milliseconds(5000),
    };
    let outcome = path.simulate(&[flow], &mut |_| ControlFlow::Continue(())).unwrap();
    let packets = outcome.packets;
    let bytes: u64 = (0..packets.time.len())
        .filter(|index| packets.event[*index] == 0 && packets.direction[*index] == Direction::Forward as u8)
        .map(|index| u64::from(packets.size[index]))
        .sum();
    // Ten packets of 1500 bytes for each round trip of 56 ms and what the packets themselves take.
    let expected = 5.0 / 0.057 * 15_000.0;
    assert!((bytes as f64 / expected - 1.0).abs() < 0.1, "{bytes} {expected}");
}
