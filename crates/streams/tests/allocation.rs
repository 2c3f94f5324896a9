//! An inject takes no memory once the thread has its ring.

#![allow(clippy::unwrap_used, reason = "a test")]

use std::time::Duration;

use trialwise_allocations::{Counting, by_this_thread};
use trialwise_streams::client::{Client, Point};
use trialwise_streams::config::{Config, Destination, MIN_BUFFER};
use trialwise_streams::protocol::{ElementType, FieldType, Value, Vector};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn inject(point: &Point) -> bool {
    let values = [
        Value::Int32(1),
        Value::from("some text longer than a word"),
        Value::Blob(&[7; 100]),
        Value::Vector(Vector::Double(&[1.0, 2.0, 3.0])),
        Value::Vector(Vector::Bool(&[true; 11])),
    ];
    point.inject(&values).is_ok()
}

/// Allocations of this thread in many injects; whether all, or some, succeeded.
fn allocations(point: &Point, injects: usize) -> (u64, usize) {
    let before = by_this_thread();
    let succeeded = (0..injects).filter(|_| inject(point)).count();
    (by_this_thread() - before, succeeded)
}

#[test]
fn injects_take_no_memory_whether_or_not_there_is_room() {
    let mut config = Config::new("node", "domain", Destination::File("/dev/null".into()));
    config.buffer_bytes = MIN_BUFFER;
    let mut client = Client::new("app", &config).unwrap();
    let vector = FieldType::Vector;
    let fields = [
        ("a", FieldType::Int32),
        ("b", FieldType::String),
        ("c", FieldType::Blob),
        ("d", vector(ElementType::Double)),
        ("e", vector(ElementType::Bool)),
    ];
    let point = client.point("m", &fields).unwrap();
    assert!(inject(&point));
    let (taken, succeeded) = allocations(&point, 1000);
    assert_eq!(taken, 0);
    assert!((100..1000).contains(&succeeded), "the ring should have filled up: {succeeded}");
    client.start().unwrap();
    std::thread::sleep(Duration::from_millis(50));
    assert_eq!(allocations(&point, 100), (0, 100));
    assert!(client.close(Duration::from_secs(5)).finished);
}
