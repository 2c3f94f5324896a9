//! The short calibration, at a quarter of its usual length.

#![allow(clippy::unwrap_used, clippy::print_stderr, reason = "tests")]

use std::time::{Duration, Instant};

use trialwise_emulator::{DeviceKind, Error, NamespaceSettings, PathError, measure_ceiling};

#[test]
fn the_ceiling_is_measured_within_its_budget_without_root() {
    const BUDGET: Duration = Duration::from_secs(5);
    let settings = NamespaceSettings { user_namespace: true, ..NamespaceSettings::default() };
    let (start, mut stages) = (Instant::now(), Vec::new());
    let ceiling =
        match measure_ceiling(settings, BUDGET, |stage, share| stages.push((stage.to_owned(), share))) {
            Err(PathError::System(Error::Refused { stage, source })) => {
                return eprintln!("skipped: {stage:?} is not permitted here: {source}");
            }
            ceiling => ceiling.unwrap(),
        };
    assert!(start.elapsed() < BUDGET * 4, "{:?}", start.elapsed());
    assert!(stages.is_sorted_by_key(|(_, share)| *share) && stages.last().unwrap().0 == "done", "{stages:?}");
    assert!(ceiling.unrestricted.bits_per_second() > 100_000_000, "{ceiling:?}");
    assert!(ceiling.packets_per_second > 1_000.0, "{ceiling:?}");
    assert!(ceiling.delay_error_median <= ceiling.delay_error_p99, "{ceiling:?}");
    assert!(ceiling.delay_error_median.as_seconds() < 0.02, "{ceiling:?}");
    if let Some(rate) = ceiling.rate {
        assert!(ceiling.goodput.bits_per_second() * 100 >= rate.bits_per_second() * 88, "{ceiling:?}");
    } else {
        assert!(ceiling.limit.is_some(), "{ceiling:?}");
    }
    assert!(matches!(ceiling.device, DeviceKind::Tun | DeviceKind::Packet));
}
