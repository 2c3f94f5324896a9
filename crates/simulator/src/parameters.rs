//! Parameters by name: what an experiment file writes of a controller and of the network.

use std::collections::HashSet;

use trialwise_congestion::{
    Algorithm, CopaSettings, CubicSettings, DcqcnSettings, DctcpSettings, DelayFilter, FixedRateSettings,
    HpccSettings, LedbatSettings, NewRenoSettings, TimelyLaw, TimelySettings, WindowRule,
};
use trialwise_units::Time;

use crate::quantity::{QuantityError, parse_bytes, parse_duration, parse_fraction, parse_rate};
use crate::settings::{Fault, FlowControl, Marking, PathKnowledge, Settings};
use crate::topology::{Link, Topology};

/// Why a parameter cannot be set.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ParameterError {
    /// Nothing has this name.
    #[error("{of} has no parameter {name:?}: it has {}", known.join(", "))]
    Unknown {
        /// Whose parameter it would be.
        of: &'static str,
        /// What was written.
        name: String,
        /// What there is.
        known: &'static [&'static str],
    },
    /// The value is not what the parameter takes.
    #[error("{name}: {problem}")]
    Value {
        /// The parameter.
        name: String,
        /// What is wrong.
        problem: ValueError,
    },
}

/// Why a text is no value of a parameter.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ValueError {
    /// No quantity of the kind that is wanted.
    #[error(transparent)]
    Quantity(#[from] QuantityError),
    /// Something else that is not allowed.
    #[error("{text:?} is not allowed: {wanted}")]
    Wanted {
        /// What was written.
        text: String,
        /// What may be written.
        wanted: &'static str,
    },
    /// A fault of two nodes that no link joins.
    #[error("{fault:?}: no link joins node {} and node {}; {there}", ends[0], ends[1])]
    NoLink {
        /// What was written.
        fault: String,
        /// The nodes that it names.
        ends: [u32; 2],
        /// The links that these nodes have.
        there: String,
    },
}

/// Reads `text` into the field that `key` names; the names of parameters are those of the fields.
macro_rules! set_field {
    ($of:literal, $settings:expr, $key:expr, $text:expr; $($field:ident: $parse:path),* $(,)?) => {
        match $key {
            $(stringify!($field) => {
                let value = $parse($text).map_err(|problem| wrong($key, problem.into()))?;
                $settings.$field = value;
                Ok(())
            })*
            _ => {
                let known = &[$(stringify!($field)),*];
                Err(ParameterError::Unknown { of: $of, name: $key.to_owned(), known })
            }
        }
    };
}

fn wrong(name: &str, problem: ValueError) -> ParameterError {
    ParameterError::Value { name: name.to_owned(), problem }
}

fn wanted(text: &str, wanted: &'static str) -> ValueError {
    ValueError::Wanted { text: text.to_owned(), wanted }
}

/// Sets the parameter `key` of a controller, as in `gain` and `0.0625`, or `increase` and `615Mbit/s`.
///
/// The names are those of the fields of the controller's settings. Fidelity is none of them: it goes with the
/// mode of the network.
pub fn set_controller(algorithm: &mut Algorithm, key: &str, text: &str) -> Result<(), ParameterError> {
    match algorithm {
        Algorithm::Dctcp(settings) => set_dctcp(settings, key, text),
        Algorithm::Dcqcn(settings) => set_dcqcn(settings, key, text),
        Algorithm::Timely(settings) => set_timely(settings, key, text),
        Algorithm::Hpcc(settings) => set_hpcc(settings, key, text),
        Algorithm::NewReno(settings) => set_newreno(settings, key, text),
        Algorithm::Cubic(settings) => set_cubic(settings, key, text),
        Algorithm::Ledbat(settings) => set_ledbat(settings, key, text),
        Algorithm::Copa(settings) => set_copa(settings, key, text),
        Algorithm::FixedRate(settings) => set_fixed_rate(settings, key, text),
        _ => Err(ParameterError::Unknown { of: "this controller", name: key.to_owned(), known: &[] }),
    }
}

/// The parameters that [`set_controller`] knows of this controller.
pub fn controller_parameters(algorithm: &Algorithm) -> &'static [&'static str] {
    match set_controller(&mut algorithm.clone(), "", "") {
        Err(ParameterError::Unknown { known, .. }) => known,
        _ => &[],
    }
}

fn set_dctcp(settings: &mut DctcpSettings, key: &str, text: &str) -> Result<(), ParameterError> {
    set_field!("dctcp", settings, key, text; gain: weight, increase: parse_rate, minimum: parse_rate, window: window)
}

fn set_dcqcn(settings: &mut DcqcnSettings, key: &str, text: &str) -> Result<(), ParameterError> {
    set_field!("dcqcn", settings, key, text;
        gain: weight,
        alpha_interval: interval,
        decrease_interval: interval,
        increase_interval: interval,
        recovery_steps: count,
        increase: parse_rate,
        hyper_increase: parse_rate,
        clamp_target: switch,
        minimum: parse_rate,
        window: window,
    )
}

fn set_timely(settings: &mut TimelySettings, key: &str, text: &str) -> Result<(), ParameterError> {
    set_field!("timely", settings, key, text;
        law: law,
        gain: weight,
        beta: weight,
        patched_beta: weight,
        low: interval,
        high: interval,
        minimum_rtt: interval,
        increase: parse_rate,
        hyper_increase: parse_rate,
        steps_to_hyper: count,
        minimum: parse_rate,
        window: window,
    )
}

fn set_hpcc(settings: &mut HpccSettings, key: &str, text: &str) -> Result<(), ParameterError> {
    set_field!("hpcc", settings, key, text;
        target_utilisation: weight,
        maximum_stage: count,
        increase: parse_rate,
        minimum: parse_rate,
        window: window,
    )
}

fn set_newreno(settings: &mut NewRenoSettings, key: &str, text: &str) -> Result<(), ParameterError> {
    set_field!("newreno", settings, key, text; initial_window: positive, burst_limit: positive)
}

fn set_cubic(settings: &mut CubicSettings, key: &str, text: &str) -> Result<(), ParameterError> {
    set_field!("cubic", settings, key, text;
        initial_window: positive,
        burst_limit: positive,
        fast_convergence: switch,
        hystart: switch,
    )
}

fn set_ledbat(settings: &mut LedbatSettings, key: &str, text: &str) -> Result<(), ParameterError> {
    set_field!("ledbat", settings, key, text;
        target: interval,
        gain: weight,
        base_history: places,
        current_filter: places,
        filter: filter,
        allowed_increase: number,
        initial_window: positive,
    )
}

fn set_copa(settings: &mut CopaSettings, key: &str, text: &str) -> Result<(), ParameterError> {
    set_field!("copa", settings, key, text;
        delta: weight,
        competitive: switch,
        own_packets: number,
        initial_window: positive,
    )
}

fn set_fixed_rate(settings: &mut FixedRateSettings, key: &str, text: &str) -> Result<(), ParameterError> {
    set_field!("fixed_rate", settings, key, text; rate: parse_rate)
}

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
    "pfc_shift",
    "pfc_hysteresis",
    "data_class",
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
                known: NETWORK_PARAMETERS,
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
            "pfc_shift" => self.controlled().shift = shift(text)?,
            "pfc_hysteresis" => self.controlled().hysteresis = parse_bytes(text)?,
            "data_class" => self.priorities.data = class(text)?,
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

fn number(text: &str) -> Result<f64, ValueError> {
    let value = text.trim().parse::<f64>().ok().filter(|value| value.is_finite() && *value >= 0.0);
    value.ok_or_else(|| wanted(text, "write a number of 0 or more"))
}

/// Above 0 and at most 1.
fn weight(text: &str) -> Result<f64, ValueError> {
    let value = parse_fraction(text)?;
    if value > 0.0 && value <= 1.0 { Ok(value) } else { Err(wanted(text, "above 0, 1 at most")) }
}

fn probability(text: &str) -> Result<f64, ValueError> {
    let value = parse_fraction(text)?;
    if value <= 1.0 { Ok(value) } else { Err(wanted(text, "a probability from 0 to 1")) }
}

fn loss(text: &str) -> Result<f64, ValueError> {
    let value = parse_fraction(text)?;
    if value < 1.0 { Ok(value) } else { Err(wanted(text, "a probability below 1")) }
}

fn count(text: &str) -> Result<u32, ValueError> {
    text.trim().parse().map_err(|_| wanted(text, "write a whole number of 0 or more"))
}

fn positive(text: &str) -> Result<u32, ValueError> {
    count(text).ok().filter(|value| *value > 0).ok_or_else(|| wanted(text, "write a whole number above 0"))
}

fn places(text: &str) -> Result<usize, ValueError> {
    positive(text).map(|value| value as usize)
}

fn shift(text: &str) -> Result<u32, ValueError> {
    let sound = count(text).ok().filter(|value| *value <= 32);
    sound.ok_or_else(|| wanted(text, "from 0 to 32: a class may hold 1/2^shift of what is free"))
}

fn class(text: &str) -> Result<u8, ValueError> {
    let sound = text.trim().parse().ok().filter(|value| (1..=7).contains(value));
    sound.ok_or_else(|| wanted(text, "classes of data are 1 to 7"))
}

fn switch(text: &str) -> Result<bool, ValueError> {
    match text.trim() {
        "true" => Ok(true),
        "false" => Ok(false),
        other => Err(wanted(other, "write true or false")),
    }
}

/// A span of time above zero: a timer of zero would fire for ever.
fn interval(text: &str) -> Result<trialwise_units::Duration, ValueError> {
    let span = parse_duration(text)?;
    if span > trialwise_units::Duration::ZERO { Ok(span) } else { Err(wanted(text, "a time above 0")) }
}

fn window(text: &str) -> Result<WindowRule, ValueError> {
    match text.trim() {
        "none" => Ok(WindowRule::Unlimited),
        "fixed" => Ok(WindowRule::Fixed),
        "scaled" => Ok(WindowRule::Scaled),
        other => Err(wanted(other, "write none, fixed or scaled")),
    }
}

fn law(text: &str) -> Result<TimelyLaw, ValueError> {
    match text.trim() {
        "gradient" => Ok(TimelyLaw::Gradient),
        "patched" => Ok(TimelyLaw::Patched),
        other => Err(wanted(other, "write gradient or patched")),
    }
}

fn filter(text: &str) -> Result<DelayFilter, ValueError> {
    match text.trim() {
        "newest" => Ok(DelayFilter::Newest),
        "minimum" => Ok(DelayFilter::Minimum),
        "mean" => Ok(DelayFilter::Mean),
        other => Err(wanted(other, "write newest, minimum or mean")),
    }
}

fn path_knowledge(text: &str) -> Result<PathKnowledge, ValueError> {
    match text.trim() {
        "largest" => Ok(PathKnowledge::Largest),
        "own" => Ok(PathKnowledge::Own),
        other => Err(wanted(other, "write largest or own")),
    }
}

const FAULTS: &str = "write the two nodes of a link, what befalls it and when, with commas between: \
                      20-21 down 5ms, 20-21 up 8ms";

fn faults(text: &str, topology: &Topology) -> Result<Vec<Fault>, ValueError> {
    let written = text.split(',').filter(|fault| !fault.trim().is_empty());
    let mut faults: Vec<_> =
        written.map(|fault| read_fault(fault.trim(), topology)).collect::<Result<_, _>>()?;
    faults.sort_by_key(|fault| fault.time);
    if some_change_nothing(&faults) {
        return Err(wanted(
            text,
            "a link that is up goes down, and one that is down comes up, in order of time",
        ));
    }
    Ok(faults)
}

/// Whether a fault finds its link as it would leave it: a slip of times or nodes.
fn some_change_nothing(faults: &[Fault]) -> bool {
    let mut down = HashSet::new();
    let changes = |fault: &Fault| if fault.up { down.remove(&fault.link) } else { down.insert(fault.link) };
    !faults.iter().all(changes)
}

fn read_fault(text: &str, topology: &Topology) -> Result<Fault, ValueError> {
    let (ends, up, time) = split_fault(text).ok_or_else(|| wanted(text, FAULTS))?;
    let link =
        topology.links.iter().position(|link| ends_of(link) == ends || ends_of(link) == [ends[1], ends[0]]);
    match link {
        Some(link) => Ok(Fault { time, link, up }),
        None => Err(ValueError::NoLink { fault: text.to_owned(), ends, there: links_of(ends, topology) }),
    }
}

/// The two nodes, whether the link comes up, and when.
fn split_fault(text: &str) -> Option<([u32; 2], bool, Time)> {
    let words: Vec<_> = text.split_whitespace().collect();
    let [link, state, time] = &words[..] else { return None };
    let (first, second) = link.split_once('-')?;
    let up = match *state {
        "up" => true,
        "down" => false,
        _ => return None,
    };
    Some(([first.parse().ok()?, second.parse().ok()?], up, Time::ZERO + parse_duration(time).ok()?))
}

const fn ends_of(link: &Link) -> [u32; 2] {
    [link.first.get(), link.second.get()]
}

/// The links of two nodes in words, a few of each.
fn links_of(nodes: [u32; 2], topology: &Topology) -> String {
    let of_node = |node: u32| {
        if node as usize >= topology.is_switch.len() {
            return format!("there is no node {node}: nodes are 0 to {}", topology.is_switch.len() - 1);
        }
        let own = topology.links.iter().map(ends_of).filter(|ends| ends.contains(&node));
        let names: Vec<_> = own.map(|[first, second]| format!("{first}-{second}")).collect();
        let more = if names.len() > SHOWN_LINKS { ", …" } else { "" };
        format!("node {node} has {}{more}", names[..names.len().min(SHOWN_LINKS)].join(", "))
    };
    nodes.map(of_node).join("; ")
}

/// Links of a node that a message names.
const SHOWN_LINKS: usize = 8;

#[cfg(test)]
mod tests {
    use super::*;
    use trialwise_units::{Bytes, Duration, Rate};

    const LINE: Rate = Rate::from_megabits_per_second(100_000);

    fn algorithm(name: &str, key: &str, text: &str) -> Result<Algorithm, String> {
        let mut algorithm = Algorithm::named(name, LINE).unwrap();
        set_controller(&mut algorithm, key, text).map_err(|error| error.to_string())?;
        Ok(algorithm)
    }

    fn network(key: &str, text: &str) -> Result<Settings, String> {
        let mut settings = Settings::for_line_rate(LINE);
        let topology = "dumbbell:2x2,100Gbit/s,1us".parse().unwrap();
        settings.set(key, text, &topology).map_err(|error| error.to_string())?;
        Ok(settings)
    }

    #[test]
    fn every_controller_takes_its_parameters() {
        let dctcp = DctcpSettings { gain: 0.5, ..DctcpSettings::for_line_rate(LINE) };
        assert_eq!(algorithm("dctcp", "gain", "0.5"), Ok(Algorithm::Dctcp(dctcp)));
        let timely = TimelySettings { law: TimelyLaw::Patched, ..TimelySettings::for_line_rate(LINE) };
        assert_eq!(algorithm("timely", "law", "patched"), Ok(Algorithm::Timely(timely)));
        let hpcc = HpccSettings { maximum_stage: 5, ..HpccSettings::for_line_rate(LINE) };
        assert_eq!(algorithm("hpcc", "maximum_stage", "5"), Ok(Algorithm::Hpcc(hpcc)));
        for name in Algorithm::NAMES {
            let refusal = algorithm(name, "nonsense", "1").unwrap_err();
            let known: Vec<_> = refusal.rsplit_once("it has ").unwrap().1.split(", ").collect();
            assert_eq!(known, controller_parameters(&Algorithm::named(name, LINE).unwrap()));
            assert!(!known.is_empty() && known.iter().all(|key| !key.contains(' ')), "{refusal}");
        }
    }

    #[test]
    fn values_that_cannot_be_are_refused() {
        let message = |name, key, text| algorithm(name, key, text).unwrap_err();
        assert_eq!(message("dctcp", "gain", "2"), "gain: \"2\" is not allowed: above 0, 1 at most");
        assert!(message("dcqcn", "alpha_interval", "0us").contains("above 0"));
        assert!(message("dctcp", "increase", "fast").contains("100Gbit/s"));
        assert!(message("cubic", "hystart", "yes").contains("true or false"));
        assert!(message("dctcp", "window", "small").contains("scaled"));
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
