//! Counts allocations, for tests which say that something takes no memory.
//!
//! ```
//! use trialwise_allocations::{Counting, by_this_thread};
//!
//! #[global_allocator]
//! static ALLOCATOR: Counting = Counting;
//!
//! let before = by_this_thread();
//! drop(std::hint::black_box(Box::new(1)));
//! assert_eq!(by_this_thread() - before, 1);
//! ```

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

thread_local! {
    static HERE: Cell<u64> = const { Cell::new(0) };
}

static EVERYWHERE: AtomicU64 = AtomicU64::new(0);

/// Allocations by this thread so far; one that is enlarged counts again.
pub fn by_this_thread() -> u64 {
    HERE.get()
}

/// Allocations by all threads so far.
pub fn by_all_threads() -> u64 {
    EVERYWHERE.load(Relaxed)
}

/// The system's allocator, which counts.
#[derive(Debug)]
pub struct Counting;

fn count() {
    HERE.set(HERE.get() + 1);
    EVERYWHERE.fetch_add(1, Relaxed);
}

// SAFETY: every call is handed to the system's allocator unchanged; counting touches two numbers, of which that
// of the thread has no destructor, and allocates nothing.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: the caller keeps the promises of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the pointer came from `alloc` above with this layout.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count();
        // SAFETY: the pointer came from `alloc` above with this layout.
        unsafe { System.realloc(pointer, layout, size) }
    }
}
