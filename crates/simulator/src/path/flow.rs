//! A flow at work: its connections to come, and its report.

use std::collections::VecDeque;

use serde_json::to_writer;
use trialwise_protocol::application::Completion;
use trialwise_protocol::load::Job;
use trialwise_protocol::report::{
    ArrivedLine, Completed, Ending, LastLine, Sample, Subject, Summary, Totals,
};
use trialwise_units::{Duration, Time};

use crate::path::connection::Connection;
use crate::path::{FlowOutcome, PathFlow};

/// What the program of a sender would do beside its connections.
pub(super) struct RunningFlow<'a> {
    pub(super) flow: &'a PathFlow,
    jobs: VecDeque<Job>,
    /// Places of its connections that have not ended.
    active: Vec<u32>,
    totals: Totals,
    completed: u64,
    report: Vec<u8>,
    ended: Option<Ending>,
}

impl<'a> RunningFlow<'a> {
    pub(super) fn new(flow: &'a PathFlow) -> Self {
        let jobs = VecDeque::from(flow.load.jobs());
        let totals = Totals::of_udp(jobs.len());
        Self { flow, jobs, active: Vec::new(), totals, completed: 0, report: Vec::new(), ended: None }
    }

    pub(super) const fn is_over(&self) -> bool {
        self.ended.is_some()
    }

    /// When the next connection is to be opened.
    pub(super) fn next_start(&self) -> Option<Time> {
        self.jobs.front().map(|job| self.flow.start + job.start)
    }

    /// The connection that is to be opened now, which will have this place.
    pub(super) fn open(&mut self, now: Time, place: u32) -> Option<Job> {
        self.next_start().filter(|start| *start <= now)?;
        self.active.push(place);
        self.jobs.pop_front()
    }

    pub(super) fn complete(&mut self, job: usize, completion: &Completion) {
        self.completed += 1;
        self.line(&Completed {
            flow: job as u64 + completion.index,
            start_ns: completion.start.nanoseconds(),
            end_ns: completion.end.nanoseconds(),
            size_bytes: completion.size,
        });
    }

    /// Reports the frames of media that have been captured or have arrived.
    pub(super) fn frames(&mut self, connection: &mut Connection) {
        while let Some(captured) = connection.take_captured() {
            self.line(&captured.line(captured.captured.nanoseconds()));
        }
        while let Some(whole) = connection.take_whole() {
            self.line(&ArrivedLine::from(whole));
        }
    }

    /// A connection has ended: with the last one, so has the load.
    pub(super) fn close(&mut self, now: Time, place: u32, connection: &Connection) {
        self.active.retain(|active| *active != place);
        self.totals.add(&connection.opener, connection.received());
        if self.active.is_empty() && self.jobs.is_empty() {
            self.end(now, Ending::Complete);
        }
    }

    /// Its time is over: its connections end as they are.
    pub(super) fn stop(&mut self, now: Time, connections: &mut [Connection]) {
        for place in std::mem::take(&mut self.active) {
            let connection = &mut connections[place as usize];
            connection.is_over = true;
            self.totals.add(&connection.opener, connection.received());
        }
        self.end(now, Ending::Time);
    }

    fn end(&mut self, now: Time, ended: Ending) {
        self.ended = Some(ended);
        let subject =
            Subject { protocol: "udp", congestion: &self.flow.congestion, load: &self.flow.load_text };
        let span = self.flow.start.nanoseconds()..now.nanoseconds();
        let summary = Summary::new(subject, span, ended, &self.totals, self.completed);
        self.line(&LastLine { summary: &summary });
    }

    /// Reports each connection; when to do so again.
    pub(super) fn sample(&mut self, now: Time, interval: Duration, connections: &[Connection]) -> Time {
        for place in self.active.clone() {
            let connection = &connections[place as usize];
            self.line(&Sample::of(now.nanoseconds(), connection.job(), &connection.opener));
        }
        now + interval
    }

    fn line(&mut self, value: &impl serde::Serialize) {
        // Numbers and texts into memory: nothing can fail.
        let _ = to_writer(&mut self.report, value);
        self.report.push(b'\n');
    }

    pub(super) fn outcome(self) -> FlowOutcome {
        FlowOutcome { ended: self.ended.unwrap_or(Ending::Time), report: self.report }
    }
}
