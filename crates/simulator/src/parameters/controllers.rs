//! Parameters of controllers, as texts.

use trialwise_congestion::Algorithm;

use super::{ParameterError, wrong};

/// Sets the parameter `key` of a controller, as in `gain` and `0.0625`, or `increase` and `615Mbit/s`.
///
/// The names are those of the fields of the controller's settings. Fidelity is none of them: it goes with the
/// mode of the network.
pub fn set_controller(algorithm: &mut Algorithm, key: &str, text: &str) -> Result<(), ParameterError> {
    let (key, text) = algorithm.respelt(key, text);
    let settings = algorithm.settings();
    let Some((_, quantity)) = settings.iter().find(|(name, _)| *name == key) else {
        let known = controller_parameters(algorithm);
        return Err(ParameterError::Unknown { of: algorithm.law(), name: key.to_owned(), known });
    };
    algorithm.set(key, quantity.read(text).map_err(|problem| wrong(key, problem.into()))?);
    Ok(())
}

/// The parameters that [`set_controller`] knows of this controller.
pub fn controller_parameters(algorithm: &Algorithm) -> Vec<&'static str> {
    algorithm.settings().into_iter().map(|(name, _)| name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use trialwise_congestion::{DctcpSettings, HpccSettings, TimelyLaw, TimelySettings};
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
        for name in Algorithm::names() {
            let refusal = algorithm(name, "nonsense", "1").unwrap_err();
            let known: Vec<_> = refusal.rsplit_once("it has ").unwrap().1.split(", ").collect();
            assert_eq!(known, controller_parameters(&Algorithm::named(name, LINE).unwrap()));
            assert!(!known.is_empty() && known.iter().all(|key| !key.contains(' ')), "{refusal}");
        }
    }

    #[test]
    fn a_file_of_a_former_version_sets_what_it_set_then() {
        for (was, is) in [("true", "switch"), ("false", "default")] {
            assert_eq!(algorithm("copa", "competitive", was), algorithm("copa", "mode", is));
        }
        assert!(algorithm("copa", "competitive", "perhaps").unwrap_err().contains("no parameter"));
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
