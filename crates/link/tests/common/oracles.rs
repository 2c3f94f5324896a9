//! What holds of any text that is read as a trace or as a link: for the targets in `fuzz/`, and for the replay of their corpus.

use trialwise_link::{ByteConvention, LinkSpec, Packet, RateSpec, Series, Trace};
use trialwise_units::{Bytes, Duration, Seed, Time};

/// Packets of a rate that is tried: its trace is not made where it would take long.
const MAX_PACKETS: u128 = 100_000;

/// A trace file, or a series of delays or probabilities: what is written of a trace is read as the same.
pub(crate) fn traces(bytes: &[u8]) {
    let Ok(text) = str::from_utf8(bytes) else { return };
    let _ = Series::parse_delays(text);
    let _ = Series::parse_fractions(text);
    let Ok(trace) = text.parse::<Trace>() else { return };
    assert_eq!(trace.to_string().parse(), Ok(trace.clone()));
    for convention in [ByteConvention::Documented, ByteConvention::Mahimahi] {
        let _ = trace.mean_rate(convention);
        let departures =
            trace.milliseconds().iter().map(|time| (Time::from_milliseconds(*time), Bytes::new(1500)));
        let again = Trace::from_departures(departures, ByteConvention::Mahimahi);
        assert_eq!(again.as_ref(), Ok(&trace));
    }
    assert_eq!(trace.scaled(1.0), Ok(trace.clone()));
    let half = trace.milliseconds()[trace.milliseconds().len() / 2];
    if let Ok(part) = trace.cut(half, u64::MAX) {
        assert!(part.milliseconds().len() < trace.milliseconds().len() + 1);
    }
}

/// Lines `key value` of a link, and after a blank line the file that it names; a link that is read takes packets and gives each of
/// them once.
pub(crate) fn links(bytes: &[u8]) {
    let Ok(text) = str::from_utf8(bytes) else { return };
    let (lines, file) = text.split_once("\n\n").unwrap_or((text, ""));
    let _ = lines.parse::<RateSpec>();
    let pairs = lines.lines().map(|line| line.split_once(' ').unwrap_or((line, "")));
    let Ok(link) = LinkSpec::from_pairs(pairs, &|_| Ok(file.to_owned())) else { return };
    assert_eq!(link.names().len(), link.elements.len());
    let packets = u128::from(
        link.capacity().map_or(0, |rate| rate.bytes_in(Duration::from_milliseconds(60_000)).get()),
    ) / 1500;
    if packets > MAX_PACKETS || has_long_phases(lines) {
        return;
    }
    let Ok(mut built) = link.build::<Full>(Time::ZERO, Seed::new(1), Some(Duration::from_milliseconds(50)))
    else {
        return;
    };
    for place in 0..20 {
        built.push(Time::from_milliseconds(place), Full);
    }
    let mut given = 0;
    while built.pop(Time::MAX).is_some() {
        given += 1;
    }
    assert!(given <= 20, "{given} of 20 packets");
}

/// Made traces of many short phases take long to make.
fn has_long_phases(lines: &str) -> bool {
    ["on-off", "cellular", "length", "outage", "trace", "batches", "leo"]
        .iter()
        .any(|word| lines.contains(word))
}

#[derive(Clone, Debug)]
struct Full;

impl Packet for Full {
    fn size(&self) -> Bytes {
        Bytes::new(1500)
    }
}
