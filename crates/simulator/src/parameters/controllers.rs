//! Parameters of controllers.

use trialwise_congestion::{
    Algorithm, CopaSettings, CubicSettings, DcqcnSettings, DctcpSettings, DelayFilter, FixedRateSettings,
    HpccSettings, LedbatSettings, NewRenoSettings, TimelyLaw, TimelySettings, WindowRule,
};

use super::values::{count, interval, number, places, positive, switch, weight};
use super::{ParameterError, ValueError, wanted, wrong};
use crate::quantity::parse_rate;

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

#[cfg(test)]
mod tests {
    use super::*;
    use trialwise_units::Rate;

    const LINE: Rate = Rate::from_megabits_per_second(100_000);

    fn algorithm(name: &str, key: &str, text: &str) -> Result<Algorithm, String> {
        let mut algorithm = Algorithm::named(name, LINE).unwrap();
        set_controller(&mut algorithm, key, text).map_err(|error| error.to_string())?;
        Ok(algorithm)
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
        assert!(message("dctcp", "increase", "fast").contains("write one like 12Mbit/s"));
        assert!(message("cubic", "hystart", "yes").contains("true or false"));
        assert!(message("dctcp", "window", "small").contains("scaled"));
    }
}
