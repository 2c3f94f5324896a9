//! Parameters of the network.

use trialwise_units::Time;

use super::faults::faults;
use super::values::{count, interval, switch};
use super::{ParameterError, ValueError, wanted, wrong};
use crate::quantity::{parse_bytes, parse_duration, parse_fraction};
use crate::settings::{Dropping, FlowControl, Marking, PathKnowledge, Scheduling, Settings, Weights};
use crate::topology::Topology;

/// The parameters of a network that [`Settings::set`] knows.
pub const NETWORK_PARAMETERS: &[&str] = &[
    "segment",
    "header",
    "acknowledgement",
    "marking",
    "kmin",
    "kmax",
    "pmax",
    "buffer",
    "reserve",
    "pfc",
    "alpha",
    "pfc_shift",
    "pfc_hysteresis",
    "data_class",
    "scheduling",
    "acknowledgements_pass_pause",
    "acknowledgements_first",
    "path_knowledge",
    "repeat_after",
    "minimum_timeout",
    "loss",
    "faults",
    "stop",
];

impl Settings {
    /// Sets the parameter `key` of the network, as in `kmin` and `400kB`; `topology` knows the links that
    /// `faults` name.
    ///
    /// `kmin` and `kmax` are lengths at the link rate of [`Marking::rate`]; other links scale them.
    pub fn set(&mut self, key: &str, text: &str, topology: &Topology) -> Result<(), ParameterError> {
        if !NETWORK_PARAMETERS.contains(&key) {
            return Err(ParameterError::Unknown {
                of: "the network",
                name: key.to_owned(),
                known: NETWORK_PARAMETERS.to_vec(),
            });
        }
        self.read(key, text, topology).map_err(|problem| wrong(key, problem))
    }

    fn read(&mut self, key: &str, text: &str, topology: &Topology) -> Result<(), ValueError> {
        match key {
            "segment" => self.segment = parse_bytes(text)?,
            "header" => self.header = parse_bytes(text)?,
            "acknowledgement" => self.acknowledgement = parse_bytes(text)?,
            "marking" => self.marking = switch(text)?.then(|| self.marking.unwrap_or(Marking::DEFAULT)),
            "kmin" => self.marked().minimum = parse_bytes(text)?,
            "kmax" => self.marked().maximum = parse_bytes(text)?,
            "pmax" => self.marked().probability = probability(text)?,
            "buffer" => self.buffer = parse_bytes(text)?,
            "reserve" => self.reserve = parse_bytes(text)?,
            "pfc" => {
                self.flow_control = switch(text)?.then(|| self.flow_control.unwrap_or(FlowControl::DEFAULT));
            }
            "alpha" => self.dropping = dropping(text)?,
            "pfc_shift" => self.controlled().shift = shift(text)?,
            "pfc_hysteresis" => self.controlled().hysteresis = parse_bytes(text)?,
            "data_class" => self.priorities.data = class(text)?,
            "scheduling" => self.priorities.scheduling = scheduling(text)?,
            "acknowledgements_pass_pause" => self.priorities.acknowledgements_pass_pause = switch(text)?,
            "acknowledgements_first" => self.priorities.acknowledgements_first_in_switches = switch(text)?,
            "path_knowledge" => self.path_knowledge = path_knowledge(text)?,
            "repeat_after" => self.recovery.repeat_after = parse_duration(text)?,
            "minimum_timeout" if text.trim() == "none" => self.recovery.minimum_timeout = None,
            "minimum_timeout" => self.recovery.minimum_timeout = Some(interval(text)?),
            "loss" => self.loss = Some(loss(text)?),
            "faults" => self.faults = faults(text, topology)?,
            "stop" => self.stop = Some(Time::ZERO + interval(text)?),
            other => return Err(wanted(other, "a parameter of the network")),
        }
        Ok(())
    }

    fn marked(&mut self) -> &mut Marking {
        self.marking.get_or_insert(Marking::DEFAULT)
    }

    fn controlled(&mut self) -> &mut FlowControl {
        self.flow_control.get_or_insert(FlowControl::DEFAULT)
    }
}

fn probability(text: &str) -> Result<f64, ValueError> {
    let value = parse_fraction(text)?;
    if value <= 1.0 { Ok(value) } else { Err(wanted(text, "a probability from 0 to 1")) }
}

fn loss(text: &str) -> Result<f64, ValueError> {
    let value = parse_fraction(text)?;
    if value < 1.0 { Ok(value) } else { Err(wanted(text, "a probability below 1")) }
}

fn shift(text: &str) -> Result<u32, ValueError> {
    let sound = count(text).ok().filter(|value| *value <= 32);
    sound.ok_or_else(|| wanted(text, "from 0 to 32: a class may hold 1/2^shift of what is free"))
}

fn class(text: &str) -> Result<u8, ValueError> {
    let sound = text.trim().parse().ok().filter(|value| (1..=7).contains(value));
    sound.ok_or_else(|| wanted(text, "classes of data are 1 to 7"))
}

fn dropping(text: &str) -> Result<Dropping, ValueError> {
    if text.trim() == "none" {
        return Ok(Dropping::Tail);
    }
    let alpha = text.trim().parse::<f64>().ok().filter(|alpha| *alpha > 0.0 && *alpha <= 1e6);
    let wrong = || wanted(text, "write a number above 0, or none for tail drop");
    alpha.map(|alpha| Dropping::Dynamic { alpha }).ok_or_else(wrong)
}

fn scheduling(text: &str) -> Result<Scheduling, ValueError> {
    match text.trim() {
        "round_robin" => Ok(Scheduling::RoundRobin),
        "strict" => Ok(Scheduling::Strict),
        other => match other.strip_prefix("weighted:") {
            Some(list) => weights(list).map(Scheduling::Weighted),
            None => {
                Err(wanted(other, "write round_robin, strict, or weights of classes as in weighted:5=3,3=1"))
            }
        },
    }
}

/// Weights of classes, as in `5=3,3=1`; those that are not named have 1.
fn weights(list: &str) -> Result<Weights, ValueError> {
    let (mut found, mut named) = (Weights::EQUAL, 0_u16);
    for each in list.split(',') {
        let numbers = each.split_once('=').and_then(|(class, weight)| {
            Some((class.trim().parse::<u8>().ok()?, weight.trim().parse::<u8>().ok()?))
        });
        let sound = numbers.filter(|(class, weight)| found.set(*class, *weight));
        let Some((class, _)) = sound else {
            return Err(wanted(each, "write a class from 1 to 7 and its weight from 1 to 255, as in 5=3"));
        };
        if named & 1 << class != 0 {
            return Err(wanted(each, "a class has one weight"));
        }
        named |= 1 << class;
    }
    Ok(found)
}

fn path_knowledge(text: &str) -> Result<PathKnowledge, ValueError> {
    match text.trim() {
        "largest" => Ok(PathKnowledge::Largest),
        "own" => Ok(PathKnowledge::Own),
        other => Err(wanted(other, "write largest or own")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::Fault;
    use trialwise_units::{Bytes, Duration, Rate};

    const LINE: Rate = Rate::from_megabits_per_second(100_000);

    fn network(key: &str, text: &str) -> Result<Settings, String> {
        let mut settings = Settings::for_line_rate(LINE);
        let topology = "dumbbell:2x2,100Gbit/s,1us".parse().unwrap();
        settings.set(key, text, &topology).map_err(|error| error.to_string())?;
        Ok(settings)
    }

    #[test]
    fn every_name_of_the_network_is_read() {
        for key in NETWORK_PARAMETERS {
            let refusal = network(key, "?!").unwrap_err();
            assert!(!refusal.contains("a parameter of the network"), "{key}: {refusal}");
        }
        assert!(network("kmn", "1kB").unwrap_err().contains("kmin"));
    }

    #[test]
    fn the_network_takes_its_parameters() {
        let marking = network("kmin", "1kB").unwrap().marking.unwrap();
        assert_eq!((marking.minimum, marking.maximum), (Bytes::new(1000), Bytes::new(1_600_000)));
        assert_eq!(network("marking", "false").unwrap().marking, None);
        assert_eq!(network("pfc", "false").unwrap().flow_control, None);
        assert_eq!(network("loss", "1%").unwrap().loss, Some(0.01));
        assert_eq!(network("minimum_timeout", "none").unwrap().recovery.minimum_timeout, None);
        assert_eq!(network("stop", "2ms").unwrap().stop, Some(Time::from_milliseconds(2)));
    }

    #[test]
    fn weights_name_classes_once() {
        let mut weights = Weights::EQUAL;
        assert!(weights.set(5, 3) && weights.set(2, 255) && !weights.set(0, 1) && !weights.set(8, 1));
        let found = network("scheduling", "weighted: 5=3, 2=255").unwrap().priorities.scheduling;
        assert_eq!(found, Scheduling::Weighted(weights));
        for slip in [
            "",
            "5",
            "5=0",
            "5=256",
            "0=1",
            "8=1",
            "5=-1",
            "5=1.5",
            "5=3,",
            "5=3,5=2",
            "5=99999999999999999999",
        ] {
            let refusal = network("scheduling", &format!("weighted:{slip}")).unwrap_err();
            assert!(refusal.contains("as in 5=3") || refusal.contains("one weight"), "{slip}: {refusal}");
        }
        assert!(network("scheduling", "wrr").unwrap_err().contains("weighted:5=3,3=1"));
    }

    #[test]
    fn faults_name_links_by_their_nodes_and_come_in_order() {
        let faults = network("faults", "5-4 up 8ms, 4-5 down 5ms").unwrap().faults;
        let fault = |milliseconds, up| Fault { time: Time::from_milliseconds(milliseconds), link: 4, up };
        assert_eq!(faults, [fault(5, false), fault(8, true)]);
        for slip in ["4-5 up 5ms", "4-5 down 8ms, 4-5 up 5ms", "4-5 down 5ms, 4-5 down 6ms"] {
            assert!(network("faults", slip).unwrap_err().contains("one that is down comes up"), "{slip}");
        }
        assert!(network("faults", "4-5 off 5ms").unwrap_err().contains("20-21 down 5ms"));
        let missing = network("faults", "0-1 down 5ms").unwrap_err();
        assert_eq!(
            missing,
            "faults: \"0-1 down 5ms\": no link joins node 0 and node 1; node 0 has 0-4; node 1 has 1-4"
        );
        assert!(network("faults", "4-9 down 5ms").unwrap_err().contains("no node 9: nodes are 0 to 5"));
        assert_eq!(faults[0].time.since(Time::ZERO), Duration::from_milliseconds(5));
    }
}
