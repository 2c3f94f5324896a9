//! Max-min fair rates over any links, kept while flows come and go.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::ControlFlow;

use super::Job;
use super::route::{RouteTable, per_picosecond};
use crate::fabric::Fabric;
use crate::index::PortId;

/// A link: who crosses it, and what is left of it by the rates that are settled.
#[derive(Clone, Debug, Default)]
struct Link {
    capacity: f64,
    members: Vec<u32>,
    /// Whether the search for what a change touches has been here.
    touched: bool,
    left: f64,
    open: u32,
}

/// A flow of the trial; times in picoseconds, rates in bits per picosecond.
#[derive(Clone, Copy, Debug, Default)]
struct Stream {
    /// Bits left at `since`.
    left: f64,
    since: f64,
    rate: f64,
    end: f64,
    touched: bool,
    fixed: bool,
}

/// Flows at max-min fair rates. A change concerns only the flows that share a link with one that it
/// concerns: theirs are found anew by filling (Bertsekas and Gallager, 6.5.2), the others stay.
#[derive(Debug)]
pub(super) struct MaxMin {
    links: Vec<Link>,
    streams: Vec<Stream>,
    active: Vec<u32>,
    touched_links: Vec<PortId>,
    touched_streams: Vec<u32>,
    /// What each touched link gave to each of its flows when it was last looked at (positive, so its bits have its
    /// order), and its place among them.
    tightest: BinaryHeap<Reverse<(u64, u32)>>,
    /// The flows that end within a window.
    due: BinaryHeap<Reverse<(u64, u32)>>,
    /// Flows and links looked at so far: what a trial costs, the same on every machine.
    pub(super) steps: u64,
}

impl MaxMin {
    pub(super) fn new(fabric: &Fabric) -> Self {
        let link = |port: usize| {
            let capacity = per_picosecond(fabric.link(PortId::new(port as u32)).rate);
            Link { capacity, left: capacity, ..Link::default() }
        };
        let links = 0..2 * fabric.topology().links.len();
        Self {
            links: links.map(link).collect(),
            streams: Vec::new(),
            active: Vec::new(),
            touched_links: Vec::new(),
            touched_streams: Vec::new(),
            tightest: BinaryHeap::new(),
            due: BinaryHeap::new(),
            steps: 0,
        }
    }

    /// Tells when each job, in order of start, ends. Rates are found anew at every begin and end, or with a `window`
    /// (picoseconds) at most once in it. `look` is called after each time, and to break leaves the rest out.
    pub(super) fn run(
        &mut self,
        jobs: &[Job],
        routes: &RouteTable,
        window: f64,
        look: &mut dyn FnMut() -> ControlFlow<()>,
        mut departs: impl FnMut(usize, f64),
    ) -> ControlFlow<()> {
        self.clear();
        self.streams.extend(jobs.iter().map(|job| Stream { left: job.work, ..Stream::default() }));
        let mut next = 0;
        while next < jobs.len() || !self.active.is_empty() {
            self.steps += self.active.len() as u64;
            let end = self.next_end();
            let start = jobs.get(next).map_or(f64::INFINITY, |job| job.start);
            if window > 0.0 {
                let boundary = (libm::floor(start.min(end) / window) + 1.0) * window;
                next = self.cross(boundary, next, jobs, routes, &mut departs);
                self.share(boundary, routes);
            } else if start < end {
                next = self.arrive(next, jobs, routes);
            } else {
                self.leave(end, routes, &mut departs);
            }
            look()?;
        }
        ControlFlow::Continue(())
    }

    /// Forgets the flows of an earlier list, of which some may be left where it was interrupted.
    fn clear(&mut self) {
        if self.active.drain(..).count() > 0 {
            self.links.iter_mut().for_each(|link| {
                link.members.clear();
                link.left = link.capacity;
            });
        }
        self.streams.clear();
    }

    fn next_end(&self) -> f64 {
        self.active.iter().map(|stream| self.streams[*stream as usize].end).fold(f64::INFINITY, f64::min)
    }

    /// All jobs that start when the job at `first` does come in; gives the place of the next.
    fn arrive(&mut self, first: usize, jobs: &[Job], routes: &RouteTable) -> usize {
        let now = jobs[first].start;
        let after = first + jobs[first..].partition_point(|job| job.start <= now);
        for stream in first..after {
            self.active.push(stream as u32);
            for port in routes.of(stream) {
                self.links[port.index()].members.push(stream as u32);
                self.touch(*port);
            }
            self.streams[stream].since = now;
        }
        self.share(now, routes);
        after
    }

    /// All that end at `now` go.
    fn leave(&mut self, now: f64, routes: &RouteTable, departs: &mut impl FnMut(usize, f64)) {
        let mut place = 0;
        while let Some(stream) = self.active.get(place).copied() {
            if self.streams[stream as usize].end > now {
                place += 1;
                continue;
            }
            self.active.swap_remove(place);
            departs(stream as usize, now);
            for port in routes.of(stream as usize) {
                self.links[port.index()].members.retain(|member| *member != stream);
                self.touch(*port);
            }
        }
        self.share(now, routes);
    }

    /// What happens before `boundary` while rates stay: flows that begin take what their tightest link has left, or the
    /// part that each of its flows would have if all had the same; gives the place of the next job.
    fn cross(
        &mut self,
        boundary: f64,
        mut next: usize,
        jobs: &[Job],
        routes: &RouteTable,
        departs: &mut impl FnMut(usize, f64),
    ) -> usize {
        for stream in &self.active {
            let end = self.streams[*stream as usize].end;
            if end < boundary {
                self.due.push(Reverse((end.to_bits(), *stream)));
            }
        }
        loop {
            let end = self.due.peek().map_or(boundary, |Reverse((bits, _))| f64::from_bits(*bits));
            match jobs.get(next).filter(|job| job.start < end) {
                Some(job) => {
                    self.enter(next as u32, job.start, boundary, routes);
                    next += 1;
                }
                None => {
                    let Some(Reverse((_, stream))) = self.due.pop() else { break };
                    self.quit(stream, routes);
                    departs(stream as usize, end);
                }
            }
        }
        self.active.retain(|stream| self.streams[*stream as usize].end >= boundary);
        next
    }

    fn enter(&mut self, number: u32, now: f64, boundary: f64, routes: &RouteTable) {
        let mut rate = f64::INFINITY;
        for port in routes.of(number as usize) {
            let link = &mut self.links[port.index()];
            link.members.push(number);
            rate = rate.min(link.left.max(link.capacity / link.members.len() as f64));
            self.touch(*port);
        }
        self.move_left(number, -rate, routes);
        let stream = &mut self.streams[number as usize];
        stream.since = now;
        stream.settle(now, rate);
        if stream.end < boundary {
            self.due.push(Reverse((stream.end.to_bits(), number)));
        }
        self.active.push(number);
    }

    fn quit(&mut self, number: u32, routes: &RouteTable) {
        for port in routes.of(number as usize) {
            self.links[port.index()].members.retain(|member| *member != number);
            self.touch(*port);
        }
        self.move_left(number, self.streams[number as usize].rate, routes);
    }

    /// Adds to what the links of a flow have left.
    fn move_left(&mut self, number: u32, rate: f64, routes: &RouteTable) {
        for port in routes.of(number as usize) {
            let link = &mut self.links[port.index()];
            link.left = (link.left + rate).clamp(0.0, link.capacity);
        }
    }

    fn touch(&mut self, port: PortId) {
        if !std::mem::replace(&mut self.links[port.index()].touched, true) {
            self.touched_links.push(port);
        }
    }

    /// Finds the rates of all that the touched links concern.
    fn share(&mut self, now: f64, routes: &RouteTable) {
        self.spread(routes);
        self.fill(now, routes);
        self.touched_links.drain(..).for_each(|port| self.links[port.index()].touched = false);
        self.touched_streams.drain(..).for_each(|stream| self.streams[stream as usize].touched = false);
    }

    /// From the touched links to all flows and links that hang together with them.
    fn spread(&mut self, routes: &RouteTable) {
        let mut place = 0;
        while let Some(port) = self.touched_links.get(place).copied() {
            place += 1;
            for member in 0..self.links[port.index()].members.len() {
                let number = self.links[port.index()].members[member];
                let stream = &mut self.streams[number as usize];
                if !std::mem::replace(&mut stream.touched, true) {
                    stream.fixed = false;
                    self.touched_streams.push(number);
                    routes.of(number as usize).iter().for_each(|port| self.touch(*port));
                }
            }
            let link = &mut self.links[port.index()];
            (link.left, link.open) = (link.capacity, link.members.len() as u32);
        }
    }

    /// Again and again, the link with the least to give to each of its flows settles their rate. What a link can
    /// give only grows meanwhile, so a number that it had before is in order until it is the least.
    fn fill(&mut self, now: f64, routes: &RouteTable) {
        let mut to_settle = self.touched_streams.len();
        self.steps += (to_settle + self.touched_links.len()) as u64;
        let mut places = std::mem::take(&mut self.tightest).into_vec();
        places.clear();
        places.extend(self.touched_links.iter().enumerate().filter_map(|(place, port)| {
            let link = &self.links[port.index()];
            (link.open > 0).then(|| Reverse((link.share().to_bits(), place as u32)))
        }));
        self.tightest = places.into();
        while let Some(Reverse((bits, place))) = self.tightest.pop().filter(|_| to_settle > 0) {
            self.steps += 1;
            let port = self.touched_links[place as usize];
            let link = &self.links[port.index()];
            if link.open == 0 {
                continue;
            }
            let share = link.share();
            if share.to_bits() > bits {
                self.tightest.push(Reverse((share.to_bits(), place)));
                continue;
            }
            to_settle -= self.settle(port, now, share, routes);
        }
    }

    /// Settles the rate of all open flows of a link; gives their number.
    fn settle(&mut self, port: PortId, now: f64, share: f64, routes: &RouteTable) -> usize {
        let before = self.links[port.index()].open;
        for member in 0..self.links[port.index()].members.len() {
            let number = self.links[port.index()].members[member] as usize;
            if self.streams[number].fixed {
                continue;
            }
            self.streams[number].settle(now, share);
            for port in routes.of(number) {
                let link = &mut self.links[port.index()];
                (link.left, link.open) = ((link.left - share).max(0.0), link.open - 1);
            }
        }
        before as usize
    }
}

impl Link {
    /// What is left for each flow whose rate is not settled.
    fn share(&self) -> f64 {
        self.left / f64::from(self.open)
    }
}

impl Stream {
    /// From `now` on the flow has this rate.
    fn settle(&mut self, now: f64, rate: f64) {
        self.fixed = true;
        if self.rate.to_bits() == rate.to_bits() {
            return;
        }
        self.left = (self.left - self.rate * (now - self.since)).max(0.0);
        (self.since, self.rate) = (now, rate);
        self.end = now + self.left / rate;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::fluid::route::tests::lay;

    fn forward() -> ControlFlow<()> {
        ControlFlow::Continue(())
    }

    fn prepare(topology: &str, ends: &[(u32, u32)]) -> (MaxMin, RouteTable) {
        let (fabric, routes) = lay(topology, ends);
        (MaxMin::new(&fabric), routes)
    }

    /// Each flow has a full link on which none is faster: then, and only then, rates are max-min fair (Bertsekas
    /// and Gallager, 6.5.2, proposition).
    fn assert_fair(model: &MaxMin, routes: &RouteTable) {
        let rate = |stream: &u32| model.streams[*stream as usize].rate;
        let close = |first: f64, second: f64| (first - second).abs() <= 1e-9 * second;
        for stream in &model.active {
            let holds_back = |port: &PortId| {
                let link = &model.links[port.index()];
                let total: f64 = link.members.iter().map(rate).sum();
                let fastest = link.members.iter().map(rate).fold(0.0, f64::max);
                close(total, link.capacity) && close(rate(stream), fastest)
            };
            assert!(routes.of(*stream as usize).iter().any(holds_back), "flow {stream}");
        }
        for link in &model.links {
            assert!(link.members.iter().map(rate).sum::<f64>() <= link.capacity * (1.0 + 1e-9));
        }
    }

    fn step(model: &mut MaxMin, routes: &RouteTable, jobs: &[Job]) {
        model.streams = jobs.iter().map(|job| Stream { left: job.work, ..Stream::default() }).collect();
        let mut next = 0;
        while next < jobs.len() || !model.active.is_empty() {
            let end = model.next_end();
            match jobs.get(next) {
                Some(job) if job.start < end => next = model.arrive(next, jobs, routes),
                _ => model.leave(end, routes, &mut |_, _| ()),
            }
            assert_fair(model, routes);
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn rates_are_fair_after_every_change(
            flows in prop::collection::vec((0..16_u32, 1..16_u32, 0..400_u32, 1..100_u32), 1..60)
        ) {
            let mut flows = flows;
            flows.sort_by_key(|flow| flow.2);
            let ends: Vec<_> = flows.iter().map(|(from, step, ..)| (*from, (from + step) % 16)).collect();
            let (mut model, routes) = prepare("fat-tree:4,100Gbit/s,1us", &ends);
            let job = |flow: &(u32, u32, u32, u32)| {
                Job { start: f64::from(flow.2), work: f64::from(flow.3) }
            };
            step(&mut model, &routes, &flows.iter().map(job).collect::<Vec<_>>());
        }
    }

    /// The parking lot: one flow over both links, one over each. Host 0 and host 1 stand at the ends of two
    /// slow links in a row, here the links of the hosts themselves: 0 to 2 crosses both, 0 to 3 the first, 1
    /// to 2 the second. All get a half; when 0 to 3 ends, 1 to 2 still holds 0 to 2 at a half.
    #[test]
    fn a_parking_lot_is_shared_as_worked_by_hand() {
        let (mut model, routes) = prepare("dumbbell:2x2,10Gbit/s,1us,100Gbit/s", &[(0, 2), (0, 3), (1, 2)]);
        let works = [100.0, 10.0, 200.0];
        let jobs = works.map(|work| Job { start: 0.0, work });
        let mut ends = [0.0; 3];
        let _ = model.run(&jobs, &routes, 0.0, &mut forward, |flow, end| ends[flow] = end);
        // At 0.005 bits/ps: the second ends at 2000, the first at 20000, the third has 100 left and 0.01.
        let expected = [20_000.0, 2_000.0, 30_000.0];
        assert!(ends.iter().zip(expected).all(|(end, by_hand)| (end - by_hand).abs() < 1e-6), "{ends:?}");
    }

    /// Three flows from one host hold each other at a third, so that who shares a far link with one of them gets
    /// two thirds.
    #[test]
    fn what_one_cannot_use_goes_to_others() {
        let ends = [(0, 3), (0, 4), (0, 5), (1, 3)];
        let (mut model, routes) = prepare("dumbbell:3x3,30Gbit/s,1us,300Gbit/s", &ends);
        let jobs = [Job { start: 0.0, work: 1.0 }; 4];
        model.streams = vec![Stream { left: 1.0, ..Stream::default() }; 4];
        model.arrive(0, &jobs, &routes);
        let rates: Vec<_> = model.streams.iter().map(|stream| stream.rate).collect();
        let expected = [0.01, 0.01, 0.01, 0.02];
        assert!(
            rates.iter().zip(expected).all(|(rate, by_hand)| (rate - by_hand).abs() < 1e-12),
            "{rates:?}"
        );
    }
}
