//! No link allocates for a packet once its rings have grown to what it holds.

mod common;

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use common::{Mix, Numbered, no_file, packet};
use trialwise_link::{Ecn, Link, LinkSpec};
use trialwise_units::{Duration, Seed, Time};

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

struct Counting;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

// SAFETY: every call is handed to the system's allocator unchanged; counting touches no memory but a
// thread-local number.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        // SAFETY: the caller keeps the promises of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the pointer came from `alloc` above with this layout.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        // SAFETY: the pointer came from `alloc` above with this layout.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

fn allocations(act: impl FnOnce()) -> u64 {
    let before = ALLOCATIONS.get();
    act();
    ALLOCATIONS.get() - before
}

/// Offers half as much again as 12 Mbit/s can carry, in full packets of eight flows.
fn send(link: &mut Link<Numbered>, now: &mut Time, count: u64, random: &mut Mix) {
    for number in 0..count {
        *now += Duration::from_nanoseconds(400_000 + random.below(533_333));
        link.push(*now, Numbered { flow: random.below(8), ecn: Ecn::Capable0, ..packet(number, 1500) });
        while link.pop(*now).is_some() {}
    }
}

#[test]
fn steady_links_allocate_nothing() {
    let counted = allocations(|| drop(std::hint::black_box(Box::new(1))));
    assert_eq!(counted, 1, "the allocator counts");
    for queue in [
        "droptail:packets=100",
        "drophead:bytes=90000",
        "codel:packets=500",
        "codel:packets=500,ecn=yes",
        "codel-mahimahi:packets=500,target=5ms,interval=100ms",
        "pie:packets=500",
        "pie-mahimahi:packets=500,target=20ms,max_burst=100ms",
        "fq_codel:packets=500",
        "red:packets=100,ecn=yes",
    ] {
        for (rate, delay) in [
            ("12Mbit/s", "28ms"),
            ("poisson:rate=12Mbit/s,length=10s", "28ms,jitter=5ms"),
            ("cellular:rate=12Mbit/s,length=10s", "28ms,jitter=5ms,reorder=yes"),
        ] {
            let pairs = [
                ("policer", "17Mbit/s,burst=30kB"),
                ("rate", rate),
                ("queue", queue),
                ("outage", "exponential:on=500ms,off=10ms"),
                ("loss", "gilbert-elliott:to_bad=1%,to_good=10%"),
                ("delay", delay),
                ("batches", "packets=4,wait=3ms"),
            ];
            let spec = LinkSpec::from_pairs(pairs, &no_file).unwrap();
            let mut link = spec.build(Time::ZERO, Seed::new(1), None).unwrap();
            let (mut now, random) = (Time::ZERO, &mut Mix(1));
            send(&mut link, &mut now, 40_000, random);
            let counted = allocations(|| send(&mut link, &mut now, 20_000, random));
            assert_eq!(counted, 0, "{queue} at {rate}, {delay}");
        }
    }
}
