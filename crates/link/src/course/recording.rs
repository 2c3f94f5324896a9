//! Recordings of a path: `# trialwise.path/1`, then CSV.

use std::str::FromStr;

use thiserror::Error;
use trialwise_units::element::{Arguments, Declared, ElementError, Form, HEAD, Key, Takes};
use trialwise_units::{Duration, Rate, Seed};

use super::{Course, DeclaredCourse, Pace, Part};
use crate::series::Series;
use crate::spans::Spans;
use crate::trace::{MAXIMUM_MILLISECOND, MAXIMUM_OPPORTUNITIES, Trace};

const MAGIC: &str = "# trialwise.path/1";
const MAX_RATE: u64 = 1_000_000_000_000_000;
const MAX_DELAY: u64 = 3_600_000_000;

/// What is wrong with a recording of a path, in which line, and what to write.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum RecordingError {
    /// Of one line.
    #[error("line {line} of the recording: {problem}")]
    Line {
        /// Counted from 1.
        line: usize,
        /// What is wrong and what to write.
        problem: String,
    },
    /// Of the whole.
    #[error("the recording {problem}")]
    Whole {
        /// What is wrong and what to write.
        problem: String,
    },
}

/// `recording:FILE,way=uplink,repeat=yes`
#[derive(Clone, Debug, PartialEq)]
pub struct RecordedSpec {
    course: Course,
}

/// What follows the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum After {
    Beginning,
    Nothing,
    Mirror,
}

impl Declared for RecordedSpec {
    const FORMS: &'static [Form] = &[Form {
        name: "recording",
        words: "Rate, base delay, loss and interruptions as a recording of a path has them for one direction.",
        head: Some(Key {
            name: "FILE",
            takes: Takes::File,
            words: "A recording of a path (docs/reference/path-recording.md).",
        }),
        keys: &[
            Key {
                name: "way",
                takes: Takes::Word(&["uplink", "downlink"]),
                words: "Which direction of the recording; of a path, default each its own.",
            },
            Key {
                name: "repeat",
                takes: Takes::Word(&["yes", "no", "mirror"]),
                words: "Whether it starts again after its end, holds its last values (with no opportunities more), or runs \
                        backwards; default yes.",
            },
        ],
        example: "recording:FILE.csv,way=uplink",
    }];

    fn read(written: &Arguments<'_>) -> Result<Self, ElementError> {
        let way = written.word("way", &["uplink", "downlink"])?;
        let way = written.needed(way, "a way, uplink or downlink")?;
        let after = written.word("repeat", &[After::Beginning, After::Nothing, After::Mirror])?;
        let after = after.unwrap_or(After::Beginning);
        let course = written.file(HEAD, |text| Recording::parse(text, way)?.course(after))?;
        Ok(Self { course })
    }
}

impl DeclaredCourse for RecordedSpec {
    fn parts(&self) -> Vec<Part> {
        self.course.parts()
    }

    fn drawn(&self, _seed: Seed) -> Course {
        self.course.clone()
    }

    fn mean(&self) -> Option<Rate> {
        self.course.pace.as_ref().map(Pace::mean)
    }

    fn base(&self) -> Duration {
        let delay = self.course.delay.as_ref();
        delay.map_or(Duration::ZERO, |series| series.cursor().at(Duration::ZERO))
    }
}

/// Reads a recording of a path for both directions, to see whether it can be replayed.
///
/// # Errors
/// What is wrong, with its line.
pub fn check_recording(text: &str) -> Result<(), RecordingError> {
    for way in ["uplink", "downlink"] {
        Recording::parse(text, way)?.course(After::Beginning)?;
    }
    Ok(())
}

type Steps<T> = Vec<(Duration, T)>;

/// What a recording has for one direction.
#[derive(Debug, Default)]
struct Recording {
    rates: Steps<Rate>,
    opportunities: Vec<u64>,
    delays: Steps<Duration>,
    losses: Steps<f64>,
    states: Steps<State>,
    /// The time of the last line of either direction.
    length: Duration,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    On,
    Off,
    Hold,
}

const COLUMNS: [&str; 7] =
    ["time_ms", "direction", "rate_bps", "opportunities", "base_delay_us", "loss", "state"];

impl Recording {
    fn parse(text: &str, way: &str) -> Result<Self, RecordingError> {
        let mut lines = text.lines().enumerate().map(|(index, line)| (index + 1, line.trim_end()));
        let first = lines.next().map_or("", |(_, line)| line);
        if first != MAGIC && !first.starts_with(&format!("{MAGIC} {{")) {
            let problem = format!("does not begin with `{MAGIC}` and its description as JSON");
            return Err(RecordingError::Whole { problem });
        }
        let places = places(lines.next().map_or("", |(_, line)| line))?;
        let mut found = Self::default();
        let mut last = [None; 2];
        let mut is_empty = true;
        for (line, text) in lines {
            let cells: Vec<&str> = text.split(',').collect();
            let row = Row { line, cells, places: &places };
            let (time, direction) = (row.time()?, row.direction()?);
            let before = &mut last[usize::from(direction == "downlink")];
            if before.is_some_and(|before| time <= before) {
                return Err(row.wrong("its time is not after that of the line before of its direction"));
            }
            *before = Some(time);
            found.length = found.length.max(time);
            is_empty = false;
            if direction == way {
                found.take(&row, time)?;
            }
        }
        if is_empty {
            return Err(RecordingError::Whole { problem: "has no line behind its columns".to_owned() });
        }
        found.check(way)
    }

    fn take(&mut self, row: &Row<'_>, time: Duration) -> Result<(), RecordingError> {
        let rate = row.whole("rate_bps", MAX_RATE)?.map(Rate::from_bits_per_second);
        self.rates.extend(rate.map(|rate| (time, rate)));
        if let Some(count) = row.whole("opportunities", MAXIMUM_OPPORTUNITIES as u64)? {
            let room = MAXIMUM_OPPORTUNITIES - self.opportunities.len();
            if count > room as u64 {
                return Err(row.wrong(format!("more than {MAXIMUM_OPPORTUNITIES} opportunities; cut it")));
            }
            if time != Duration::from_milliseconds(time.milliseconds()) {
                return Err(row.wrong("opportunities are at whole milliseconds; round time_ms"));
            }
            self.opportunities.extend(std::iter::repeat_n(time.milliseconds(), count as usize));
        }
        let delay = row.whole("base_delay_us", MAX_DELAY)?.map(Duration::from_microseconds);
        self.delays.extend(delay.map(|delay| (time, delay)));
        self.losses.extend(row.loss()?.map(|loss| (time, loss)));
        self.states.extend(row.state()?.map(|state| (time, state)));
        Ok(())
    }

    fn check(self, way: &str) -> Result<Self, RecordingError> {
        let whole = |problem: &str| Err(RecordingError::Whole { problem: problem.replace("{way}", way) });
        if !self.rates.is_empty() && !self.opportunities.is_empty() {
            return whole("has both rates and opportunities for the {way}; keep one of them");
        }
        if !self.rates.is_empty() && self.rates.iter().all(|(_, rate)| *rate == Rate::ZERO) {
            return whole("has rate 0 throughout for the {way}, so that nothing would ever pass");
        }
        Ok(self)
    }

    fn course(self, after: After) -> Result<Course, RecordingError> {
        let length = self.length;
        let mirrored = after == After::Mirror;
        let whole = if mirrored { length * 2 } else { length };
        let period = Some(whole).filter(|whole| after != After::Nothing && *whole > Duration::ZERO);
        let pace = if self.opportunities.is_empty() {
            series(self.rates, length, mirrored, period).map(Pace::Rates)
        } else {
            let trace = trace(self.opportunities, length, mirrored)?;
            Some(Pace::Opportunities(trace, period))
        };
        let spans = |wanted| spans(&self.states, wanted, length, mirrored, period);
        Ok(Course {
            pace,
            outages: spans(State::Off),
            holds: spans(State::Hold),
            delay: series(self.delays, length, mirrored, period),
            loss: series(self.losses, length, mirrored, period),
            reorders: false,
        })
    }
}

/// The steps as a series; mirrored, they run backwards after `length`.
fn series<T: Copy>(
    mut steps: Steps<T>,
    length: Duration,
    mirrored: bool,
    period: Option<Duration>,
) -> Option<Series<T>> {
    if mirrored {
        let mut end = length;
        for index in (0..steps.len()).rev() {
            let (start, value) = steps[index];
            if start < end {
                steps.push((length + (length - end), value));
            }
            end = start;
        }
    }
    steps.dedup_by(|later, earlier| later.0 == earlier.0);
    Series::new(steps).ok().map(|series| series.repeated(period))
}

fn trace(mut times: Vec<u64>, length: Duration, mirrored: bool) -> Result<Trace, RecordingError> {
    let end = length.milliseconds();
    if mirrored {
        let back: Vec<u64> =
            times.iter().rev().filter(|time| **time < end).map(|time| 2 * end - time).collect();
        times.extend(back);
    }
    Trace::new(times).map_err(|error| RecordingError::Whole { problem: format!("makes no trace: {error}") })
}

/// When the state is the wanted one; nothing where it never is.
fn spans(
    states: &Steps<State>,
    wanted: State,
    length: Duration,
    mirrored: bool,
    period: Option<Duration>,
) -> Option<Spans> {
    let mut found: Vec<(Duration, Duration)> = Vec::new();
    for (index, (begin, state)) in states.iter().enumerate() {
        let end = states.get(index + 1).map_or(length, |(next, _)| *next);
        match found.last_mut() {
            _ if *state != wanted || *begin >= end => {}
            Some(last) if last.1 == *begin => last.1 = end,
            _ => found.push((*begin, end)),
        }
    }
    if mirrored {
        let back = found.iter().rev().map(|(begin, end)| (length * 2 - *end, length * 2 - *begin));
        let back: Vec<_> = back.collect();
        found.extend(back);
    }
    (!found.is_empty()).then(|| Spans::listed(found, period))
}

fn places(header: &str) -> Result<[Option<usize>; COLUMNS.len()], RecordingError> {
    let wrong = |problem: String| RecordingError::Line { line: 2, problem };
    let mut places = [None; COLUMNS.len()];
    for (place, name) in header.split(',').map(str::trim).enumerate() {
        let Some(column) = COLUMNS.iter().position(|known| *known == name) else {
            let problem = format!("unknown column `{}`; known: {}", shown(name), COLUMNS.join(", "));
            return Err(wrong(problem));
        };
        if places[column].replace(place).is_some() {
            return Err(wrong(format!("`{name}` is there twice; keep one")));
        }
    }
    if places[0].is_none() || places[1].is_none() {
        return Err(wrong("time_ms and direction must be among the columns".to_owned()));
    }
    Ok(places)
}

/// The beginning of a text for a message.
fn shown(text: &str) -> String {
    text.chars().take(40).collect()
}

struct Row<'a> {
    line: usize,
    cells: Vec<&'a str>,
    places: &'a [Option<usize>; COLUMNS.len()],
}

impl Row<'_> {
    fn wrong(&self, problem: impl Into<String>) -> RecordingError {
        RecordingError::Line { line: self.line, problem: problem.into() }
    }

    /// What stands in a column; nothing where it is empty.
    fn cell(&self, name: &str) -> Option<&str> {
        let column = COLUMNS.iter().position(|known| *known == name)?;
        let text = self.cells.get(self.places[column]?)?.trim();
        Some(text).filter(|text| !text.is_empty())
    }

    fn read<T: FromStr>(&self, name: &str, example: &str) -> Result<Option<T>, RecordingError> {
        let bad = |text| format!("{name}: `{}` is not one like {example}", shown(text));
        self.cell(name).map(|text| text.parse().map_err(|_| self.wrong(bad(text)))).transpose()
    }

    fn whole(&self, name: &str, most: u64) -> Result<Option<u64>, RecordingError> {
        match self.read(name, "1500, a whole number")? {
            Some(value) if value > most => Err(self.wrong(format!("{name}: {value} is more than {most}"))),
            value => Ok(value),
        }
    }

    fn time(&self) -> Result<Duration, RecordingError> {
        let bad = || self.wrong("time_ms is missing or no number of milliseconds, such as 1500 or 0.25");
        let text = self.cell("time_ms").ok_or_else(bad)?;
        if !text.starts_with(|digit: char| digit.is_ascii_digit()) {
            return Err(bad());
        }
        let time: Duration = format!("{text}ms").parse().map_err(|_| bad())?;
        if time > Duration::from_milliseconds(MAXIMUM_MILLISECOND) {
            return Err(self.wrong(format!("time_ms is beyond {MAXIMUM_MILLISECOND}; count from the start")));
        }
        Ok(time)
    }

    fn direction(&self) -> Result<&str, RecordingError> {
        match self.cell("direction") {
            Some(way @ ("uplink" | "downlink")) => Ok(way),
            other => {
                let other = shown(other.unwrap_or_default());
                Err(self.wrong(format!("direction: `{other}` is neither uplink nor downlink")))
            }
        }
    }

    fn loss(&self) -> Result<Option<f64>, RecordingError> {
        match self.read::<f64>("loss", "0.004, a share from 0 to 1")? {
            Some(loss) if !(0.0..=1.0).contains(&loss) => {
                Err(self.wrong(format!("loss: {loss} is no share from 0 to 1")))
            }
            loss => Ok(loss),
        }
    }

    fn state(&self) -> Result<Option<State>, RecordingError> {
        match self.cell("state") {
            None => Ok(None),
            Some("on") => Ok(Some(State::On)),
            Some("off") => Ok(Some(State::Off)),
            Some("hold") => Ok(Some(State::Hold)),
            Some(other) => Err(self.wrong(format!("state: `{}` is none of on, off, hold", shown(other)))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const TEXT: &str = "# trialwise.path/1 {\"mtu\": 1500}
time_ms,direction,rate_bps,opportunities,base_delay_us,loss,state
0,uplink,12000000,,10000,0.01,on
0,downlink,,2,20000,,
50,uplink,6000000,,,,hold
60,uplink,,,15000,,on
70,downlink,,3,,,
80,uplink,,,,0.5,off
100,uplink,,,,,on
";

    fn course(way: &str, after: After) -> Course {
        Recording::parse(TEXT, way).and_then(|recording| recording.course(after)).unwrap()
    }

    fn milliseconds(value: u64) -> Duration {
        Duration::from_milliseconds(value)
    }

    fn delays(course: &Course, times: &[u64]) -> Vec<u64> {
        let mut cursor = course.delay.as_ref().unwrap().cursor();
        times.iter().map(|time| cursor.at(milliseconds(*time)).milliseconds()).collect()
    }

    #[test]
    fn each_direction_has_its_own_and_all_begin_again_together() {
        let up = course("uplink", After::Beginning);
        assert_eq!(up.parts(), [Part::Rate, Part::Outage, Part::Handover, Part::Loss, Part::Delay]);
        assert_eq!(delays(&up, &[0, 59, 60, 99, 100, 159, 160]), [10, 10, 15, 15, 10, 10, 15]);
        let holds = up.holds.unwrap();
        let end = |time| holds.at(milliseconds(time)).end.map(Duration::milliseconds);
        assert_eq!([end(49), end(50), end(60), end(155)], [None, Some(60), None, Some(160)]);
        assert!(up.outages.unwrap().at(milliseconds(185)).end.is_some());
        let down = course("downlink", After::Beginning);
        assert_eq!(down.parts(), [Part::Rate, Part::Delay]);
        let Some(Pace::Opportunities(trace, period)) = down.pace else { panic!("no opportunities") };
        assert_eq!((trace.milliseconds(), period), (&[0, 0, 70, 70, 70][..], Some(milliseconds(100))));
    }

    #[test]
    fn without_repetition_the_last_values_hold() {
        let up = course("uplink", After::Nothing);
        assert_eq!(delays(&up, &[0, 100, 100_000]), [10, 15, 15]);
        assert!(up.outages.unwrap().at(milliseconds(185)).end.is_none());
    }

    #[test]
    fn a_mirror_runs_backwards() {
        let up = course("uplink", After::Mirror);
        // 10 up to 60, 15 up to 100; backwards 15 up to 140, 10 up to 200.
        assert_eq!(delays(&up, &[59, 60, 139, 140, 199, 259, 260]), [10, 15, 15, 10, 10, 10, 15]);
        let Some(Pace::Opportunities(trace, _)) = course("downlink", After::Mirror).pace else {
            panic!("no opportunities")
        };
        assert_eq!(trace.milliseconds(), [0, 0, 70, 70, 70, 130, 130, 130, 200, 200]);
        let outage = up.outages.unwrap();
        let off = |time| outage.at(milliseconds(time)).end.is_some();
        assert_eq!([79, 80, 99, 100, 119, 120].map(off), [false, true, true, true, true, false]);
    }

    fn message(text: &str) -> String {
        let found = Recording::parse(text, "uplink").and_then(|found| found.course(After::Beginning));
        found.unwrap_err().to_string()
    }

    #[test]
    fn wrong_recordings_are_refused_with_their_line() {
        let head =
            "# trialwise.path/1 {}\ntime_ms,direction,rate_bps,opportunities,base_delay_us,loss,state\n";
        let of = |rows: &str| message(&format!("{head}{rows}"));
        assert!(message("1\n2\n").contains("does not begin with `# trialwise.path/1`"));
        assert!(message("# trialwise.path/12 {}\n").contains("does not begin with"));
        assert!(message("# trialwise.path/1 {}\ntime,direction\n").contains("unknown column `time`"));
        assert!(message("# trialwise.path/1 {}\ntime_ms\n").contains("must be among the columns"));
        assert!(of("").contains("has no line"));
        assert!(of("0,sideways,1,,,,\n").contains("line 3 of the recording: direction: `sideways`"));
        assert!(
            of("0,uplink,1,,,,\n0,uplink,2,,,,\n").contains("line 4 of the recording: its time is not after")
        );
        assert!(of("-1,uplink,1,,,,\n").contains("time_ms is missing or no number"));
        assert!(of("12000000000,uplink,1,,,,\n").contains("time_ms is beyond"));
        assert!(of("0,uplink,1,,,2,\n").contains("loss: 2 is no share"));
        assert!(of("0,uplink,1,,,NaN,\n").contains("is no share"));
        assert!(of("0,uplink,1,,,,away\n").contains("state: `away` is none of on, off, hold"));
        assert!(of("0,uplink,x,,,,\n").contains("rate_bps: `x` is not one like 1500"));
        assert!(of("0,uplink,0,,,,\n").contains("rate 0 throughout"));
        assert!(of("0,uplink,1,1,,,\n").contains("both rates and opportunities"));
        assert!(of("0,uplink,,99999999,,,\n").contains("is more than 50000000"));
        assert!(of("0.5,uplink,,1,,,\n").contains("whole milliseconds"));
        assert!(of("0,uplink,,5,,,\n").contains("makes no trace"));
    }

    proptest! {
        #[test]
        fn no_text_panics(rows in "[0-9,.\n]{0,60}|(([0-9]{1,4},(uplink|downlink),[0-9]{0,3},[0-9]{0,2},[0-9]{0,3},(0\\.5)?,(on|off|hold)?\n){0,8})") {
            let head = "# trialwise.path/1 {}\ntime_ms,direction,rate_bps,opportunities,base_delay_us,loss,state\n";
            for after in [After::Beginning, After::Nothing, After::Mirror] {
                let _ = Recording::parse(&format!("{head}{rows}"), "uplink").and_then(|found| found.course(after));
            }
        }
    }
}
