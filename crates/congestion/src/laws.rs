//! Which controllers there are: a line for each, here and nowhere else, and a file for each in `laws/`, which says what is to be said of
//! it. Those with large histories are boxed.

use trialwise_units::{Bytes, Duration, Ecn, Rate, Time};

use crate::any::register;
use crate::declared::{Declared, Listed, Needs, Quantity, Value};
use crate::{
    Acknowledgement, BuildError, Context, Controller, Factory, Feedback, Fidelity, Loss, ReceiverHalf, Sent,
    State, Timeout,
};

register! {
    dctcp::Dctcp in Dctcp,
    dcqcn::Dcqcn in Dcqcn,
    timely::Timely in Timely,
    hpcc::Hpcc in Hpcc,
    swift::Swift in Swift,
    powertcp::PowerTcp in PowerTcp,
    theta_powertcp::ThetaPowerTcp in ThetaPowerTcp,
    nscc::Nscc in Nscc,
    newreno::NewReno in NewReno,
    cubic::Cubic in Cubic,
    ledbat::Ledbat in Box<Ledbat>,
    copa::Copa in Box<Copa>,
    prague::Prague in Prague,
    allegro::Allegro in Box<Allegro>,
    vivace::Vivace in Box<Vivace>,
    bbr3::Bbr3 in Box<Bbr3>,
    c4::C4 in Box<C4>,
    gcc::Gcc in Box<Gcc>,
    scream::Scream in Box<Scream>,
    scream2::Scream2 in Box<Scream2>,
    sprout::Sprout in Sprout,
    verus::Verus in Box<Verus>,
    remy::Remy in Remy,
    aurora::Aurora in Box<Aurora>,
    indigo::Indigo in Box<Indigo>,
    fixed_rate::FixedRate in FixedRate,
    saturator::Saturator in Saturator,
    #[cfg(any(test, feature = "specimen"))]
    specimen::Specimen in Specimen,
}

impl Algorithm {
    /// All names that [`Self::named`] knows.
    pub fn names() -> Vec<&'static str> {
        Self::all().into_iter().map(|(name, _)| name).collect()
    }

    /// The algorithm that is written as `NAME`, as `NAME:RATE` where somebody has to say a rate (`line`, where there is one and
    /// none is written), or with settings, as in `copa:delta=1,slow_start=false`.
    ///
    /// # Errors
    /// There is none of this name, its rate is none, or it has no such setting or value.
    pub fn written(text: &str, line: Option<Rate>) -> Result<Self, BuildError> {
        let (name, behind) = text.split_once(':').unwrap_or((text, ""));
        let plain = Self::named(name, line.unwrap_or(Rate::ZERO))?;
        let settings = behind.split(',').filter(|_| !behind.is_empty());
        if plain.needs().rate && (behind.is_empty() || !behind.contains('=')) {
            return match (behind, line) {
                ("", Some(_)) => Ok(plain),
                (rate, _) => {
                    let refused = |problem| BuildError::Rate { controller: name.to_owned(), problem };
                    Self::named(name, rate.parse().map_err(refused)?)
                }
            };
        }
        settings.map(|setting| setting.split_once('=')).try_fold(plain, |algorithm, setting| {
            let unknown = || BuildError::Unknown { name: text.to_owned(), known: Self::names().join(", ") };
            let (key, value) = setting.ok_or_else(unknown)?;
            algorithm.with_setting(key.trim(), value)
        })
    }

    /// The algorithm with this value of a setting.
    fn with_setting(mut self, key: &str, text: &str) -> Result<Self, BuildError> {
        let (controller, settings) = (self.law(), self.settings());
        let (key, text) = self.respelt(key, text);
        let Some((setting, quantity)) = settings.iter().find(|(name, _)| *name == key) else {
            let known = settings.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ");
            return Err(BuildError::NoSetting { controller, setting: key.to_owned(), known });
        };
        let value = quantity.read(text);
        self.set(setting, value.map_err(|problem| BuildError::Value { controller, setting, problem })?);
        Ok(self)
    }

    /// The names of those that do without what only paths give ([`Needs::paths_only`]).
    pub fn in_fabrics() -> Vec<&'static str> {
        let all = Self::all().into_iter();
        all.filter(|(_, needs)| !needs.paths_only()).map(|(name, _)| name).collect()
    }

    /// The names of those that do without what only the fabric of a data centre gives, with what they need.
    pub fn over_paths() -> Vec<(&'static str, Needs)> {
        Self::all().into_iter().filter(|(_, needs)| !needs.fabric).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::context;
    use crate::{CopaMode, CopaSettings, DctcpSettings};

    #[test]
    fn every_name_builds_a_controller_of_that_name() {
        let line = Rate::from_megabits_per_second(100_000);
        for (name, needs) in Algorithm::all() {
            let controller = Algorithm::named(name, line).unwrap().build(&context()).unwrap();
            assert_eq!(controller.name(), name);
            if needs.fabric {
                assert_eq!(controller.pacing_rate(), Some(line));
            }
            assert_eq!(controller.state().window, controller.window(), "{name}");
        }
    }

    #[test]
    fn an_unknown_name_is_refused_with_the_known_ones() {
        let error = Algorithm::named("vegas", Rate::ZERO).unwrap_err().to_string();
        assert!(error.contains("vegas") && error.contains("timely_patched"), "{error}");
    }

    #[test]
    fn settings_are_written_behind_the_name() {
        let written = |text| Algorithm::written(text, None);
        let settings = CopaSettings {
            delta: 1.0,
            mode: CopaMode::Default,
            slow_start: false,
            ..CopaSettings::default()
        };
        assert_eq!(written("copa:delta=1, mode=default, slow_start=false"), Ok(Algorithm::Copa(settings)));
        assert_eq!(written("copa"), Ok(Algorithm::Copa(CopaSettings::default())));
        for (text, said) in [
            ("copa:1", "copa:1"),
            ("copa:pace=1", "copa has no parameter \"pace\": it has delta, mode"),
            ("copa:delta=2", "copa:delta: \"2\" is not allowed: above 0, 1 at most"),
            ("copa:mode=both", "write switch or default"),
            ("copa:delta=0.5,", "copa:delta=0.5,"),
            ("fixed_rate", "does not start with a number"),
        ] {
            let error = written(text).unwrap_err().to_string();
            assert!(error.contains(said), "{error}");
        }
    }

    #[test]
    fn what_a_controller_needs_and_lacks_is_named() {
        let line = Rate::from_megabits_per_second(100_000);
        let bare = Context { base_rtt: None, ..context() };
        let error = Algorithm::named("hpcc", line).unwrap().build(&bare).err().unwrap().to_string();
        assert!(error.contains("base_rtt"), "{error}");
    }

    #[test]
    fn a_boxed_controller_is_a_controller() {
        fn window(controller: &impl Controller) -> Option<Bytes> {
            controller.window()
        }
        let line = Rate::from_megabits_per_second(100_000);
        let inner = Dctcp::new(&DctcpSettings::for_line_rate(line), &context()).unwrap();
        let boxed: Box<dyn Controller> = Box::new(inner);
        assert_eq!(window(&AnyController::Custom(boxed)), Some(Bytes::new(78_000)));
    }
}
