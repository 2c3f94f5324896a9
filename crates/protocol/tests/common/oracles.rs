//! What holds of any datagrams and loads: for the targets in `fuzz/`, and for the replay of their corpus.

use trialwise_protocol::frame::{Frame, write_answer, write_close, write_data};
use trialwise_protocol::load::Load;
use trialwise_protocol::opening::Task;
use trialwise_protocol::receiver::Receiver;
use trialwise_protocol::scheme::{IpVersion, Marking, Scheme};
use trialwise_units::{Ecn, Seed, Time};

/// Larger than any datagram that is written.
const BUFFER: usize = 1 << 16;

/// Datagrams, each behind its length in a byte: what is read and written again is read as the same, and both ends of a connection
/// take it, under a scheme that goes by answers and under one with a half at the receiver.
pub(crate) fn frames(bytes: &[u8]) {
    for name in ["cubic", "sprout"] {
        frames_of(name, bytes);
    }
}

fn frames_of(name: &str, bytes: &[u8]) {
    let mut rest = bytes;
    let scheme = Scheme::named(name, 1500, IpVersion::Four, Marking::Declared).expect("a scheme of our own");
    let mut sender = scheme.sender(Time::ZERO, true, Seed::new(1)).expect("a sender of our own");
    let (mut receiver, mut task, mut now): (Receiver, _, _) = (scheme.receiver(), Task::Take, Time::ZERO);
    sender.write(1 << 40);
    while let Some((length, behind)) = rest.split_first() {
        let (datagram, behind) = behind.split_at(usize::from(*length).min(behind.len()));
        rest = behind;
        now += trialwise_units::Duration::from_milliseconds(u64::from(*length));
        while sender.poll(now).is_some() {}
        match read_and_written(datagram) {
            Some(Frame::Data(_, data)) => {
                task = data.opening.map_or(task, |opening| opening.task);
                receiver.on_data(now.nanoseconds(), &data, Ecn::from_bits(*length));
                sender.write(task.owed(receiver.received()));
                if let Some(answer) = receiver.answer(now.nanoseconds()) {
                    sender.on_answer(now, now, &answer);
                }
            }
            Some(Frame::Answer(_, answer)) => {
                sender.on_answer(now, Time::from_nanoseconds(answer.arrival), &answer);
            }
            Some(Frame::Close) | None => {}
        }
        sender.on_timer(now);
        let _ = (sender.next_event(), sender.state(), sender.delivery_rate());
    }
}

fn read_and_written(datagram: &[u8]) -> Option<Frame> {
    let (name, frame) = Frame::read(datagram)?;
    let mut buffer = vec![0; BUFFER];
    let length = match &frame {
        Frame::Data(way, data) => write_data(&mut buffer, name, *way, data),
        Frame::Answer(way, answer) => write_answer(&mut buffer, name, *way, answer),
        Frame::Close => write_close(&mut buffer, name),
    };
    let again = Frame::read(&buffer[..length]).expect("a frame of our own");
    assert_eq!(again.0, name);
    if let (Frame::Answer(_, found), Frame::Answer(_, answer)) = (&again.1, &frame) {
        assert!(answer.ranges.starts_with(&found.ranges), "{found:?} of {answer:?}");
    } else {
        assert_eq!(again.1, frame);
    }
    Some(frame)
}

/// A load on the first line, and the flow list that it names below: it makes jobs.
pub(crate) fn loads(bytes: &[u8]) {
    let Ok(text) = str::from_utf8(bytes) else { return };
    let (load, list) = text.split_once('\n').unwrap_or((text, ""));
    let Ok(load) = Load::read(load, &|_| Ok(list.to_owned())) else { return };
    assert!(!load.jobs().is_empty());
}
