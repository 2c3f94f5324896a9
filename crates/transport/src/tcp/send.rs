//! `tcp send`.

use std::collections::VecDeque;

use trialwise_units::Time;

use crate::clock::Clock;
use crate::error::Error;
use crate::report::Report;
use crate::session::{Ticks, finish};
use crate::settings::SendSettings;
use crate::tcp::stream::Stream;
use crate::wait::Waiter;
use trialwise_protocol::load::Job;
use trialwise_protocol::report::{Ending, Totals};

/// Bytes handed to the kernel at once.
const BLOCK: usize = 1 << 18;

struct Sender<'a> {
    settings: &'a SendSettings,
    report: Report,
    waiter: Waiter,
    clock: Clock,
    jobs: VecDeque<Job>,
    streams: Vec<Stream>,
    totals: Totals,
    ticks: Ticks,
    block: Vec<u8>,
}

/// Sends until the load is done, its time is over, or a signal comes, and reports.
pub(crate) fn send(settings: &SendSettings) -> Result<(), Error> {
    let clock = Clock::start();
    let jobs = VecDeque::from(settings.load.jobs());
    let mut sender = Sender {
        settings,
        report: Report::create(settings.report.as_deref(), clock)?,
        waiter: Waiter::new().map_err(Error::from_io("taking over signals"))?,
        clock,
        totals: Totals { flows: jobs.len(), ..Totals::default() },
        jobs,
        streams: Vec::new(),
        ticks: Ticks::new(settings.interval),
        block: vec![0; BLOCK],
    };
    let result = sender.run();
    sender.end(result)
}

impl Sender<'_> {
    fn run(&mut self) -> Result<Ending, Error> {
        loop {
            let now = self.clock.now();
            if self.settings.time.is_some_and(|time| now >= Time::ZERO + time) {
                return Ok(Ending::Time);
            }
            self.start_due(now)?;
            self.advance(now)?;
            if self.ticks.is_due(now) {
                self.sample(now)?;
            }
            self.report.flush_when_due(now)?;
            if self.jobs.is_empty() && self.streams.is_empty() {
                return Ok(Ending::Complete);
            }
            if self.wait(now)? {
                return Ok(Ending::Signal);
            }
        }
    }

    fn start_due(&mut self, now: Time) -> Result<(), Error> {
        while self.jobs.front().is_some_and(|job| Time::ZERO + job.start <= now)
            && let Some(job) = self.jobs.pop_front()
        {
            self.streams.push(Stream::start(&job, self.settings, now)?);
        }
        Ok(())
    }

    fn advance(&mut self, now: Time) -> Result<(), Error> {
        let mut index = 0;
        while let Some(stream) = self.streams.get_mut(index) {
            if let Some(completion) = stream.advance(now, &mut self.block)? {
                let number = stream.flow as u64 + completion.index;
                self.report.completed(number, completion.start, completion.end, completion.size)?;
            }
            if stream.is_done() {
                let stream = self.streams.swap_remove(index);
                self.account(&stream);
            } else {
                index += 1;
            }
        }
        Ok(())
    }

    fn account(&mut self, stream: &Stream) {
        self.totals.received += stream.received();
        let Some(info) = stream.info() else { return };
        self.totals.acknowledged += stream.acknowledged(&info);
        self.totals.retransmits += info.retransmits();
        if let Some(minimum) = info.minimum_rtt() {
            self.totals.rtt.lower(minimum);
        }
    }

    fn sample(&mut self, now: Time) -> Result<(), Error> {
        let time = self.clock.nanoseconds(now);
        for stream in &self.streams {
            let Some(info) = stream.info() else { continue };
            if let Some(rtt) = info.rtt() {
                self.totals.rtt.add(rtt);
            }
            self.report.sample(&info.sample(stream.flow, time))?;
        }
        Ok(())
    }

    /// Whether a signal has come.
    fn wait(&mut self, now: Time) -> Result<bool, Error> {
        self.waiter.clear();
        let end = self.settings.time.map(|time| Time::ZERO + time);
        let job = self.jobs.front().map(|job| Time::ZERO + job.start);
        let mut next = [end, job, Some(self.ticks.next())].into_iter().flatten().min();
        for stream in &mut self.streams {
            let to_write = stream.wants_to_write(now);
            self.waiter.watch(stream.descriptor(), to_write);
            next = [next, stream.next_event(now)].into_iter().flatten().min();
        }
        self.waiter.wait(now, next).map_err(Error::from_io("waiting"))
    }

    fn end(mut self, result: Result<Ending, Error>) -> Result<(), Error> {
        let streams = std::mem::take(&mut self.streams);
        for stream in &streams {
            self.account(stream);
            stream.abort();
        }
        finish(self.report, self.settings, "tcp", &self.totals, result)
    }
}
