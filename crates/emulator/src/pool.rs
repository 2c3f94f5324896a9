//! Buffers of frames, used again and again.

/// Most frames fit the first size, and one packet of 9000 bytes the second; what is in flight at a gigabit fits memory because a small packet takes a small buffer.
const SIZES: [usize; 3] = [2048, 9216, 66_048];
const LARGE: usize = SIZES.len() - 1;

struct Buffer {
    bytes: Box<[u8]>,
    size: usize,
    /// How many segments of it are somewhere inside.
    references: u32,
}

/// All buffers, and which are free. None is given back to the system.
pub(crate) struct Pool {
    buffers: Vec<Buffer>,
    free: [Vec<u32>; SIZES.len()],
    /// Where the next frame is read.
    reading: u32,
}

impl Pool {
    pub(crate) fn new() -> Self {
        let mut pool = Self { buffers: Vec::new(), free: Default::default(), reading: 0 };
        pool.reading = pool.take(LARGE);
        pool
    }

    /// Where to read the next frame.
    pub(crate) fn reading(&mut self) -> &mut [u8] {
        &mut self.buffers[self.reading as usize].bytes
    }

    /// Keeps the frame of `length` bytes that was read, for so many segments.
    pub(crate) fn keep(&mut self, length: usize, segments: u32) -> u32 {
        let class = SIZES.iter().position(|size| length <= *size).unwrap_or(LARGE);
        let kept = if class == LARGE {
            let kept = self.reading;
            self.reading = self.take(LARGE);
            kept
        } else {
            let kept = self.take(class);
            self.copy(self.reading as usize, kept as usize, length);
            kept
        };
        self.buffers[kept as usize].references = segments;
        kept
    }

    pub(crate) fn bytes(&self, buffer: u32) -> &[u8] {
        &self.buffers[buffer as usize].bytes
    }

    pub(crate) fn bytes_mut(&mut self, buffer: u32) -> &mut [u8] {
        &mut self.buffers[buffer as usize].bytes
    }

    /// Holds a buffer that is held already for one segment more.
    pub(crate) fn retain(&mut self, buffer: u32) {
        self.buffers[buffer as usize].references += 1;
    }

    /// Lets go what so many segments held.
    pub(crate) fn release(&mut self, buffer: u32, segments: u32) {
        let kept = &mut self.buffers[buffer as usize];
        kept.references -= segments;
        if kept.references == 0 {
            self.free[kept.size].push(buffer);
        }
    }

    /// Buffers of which something is inside.
    #[cfg(any(test, fuzzing))]
    pub(crate) fn held(&self) -> usize {
        self.buffers.iter().filter(|buffer| buffer.references > 0).count()
    }

    fn take(&mut self, class: usize) -> u32 {
        self.free[class].pop().unwrap_or_else(|| {
            let bytes = vec![0; SIZES[class]].into_boxed_slice();
            self.buffers.push(Buffer { bytes, size: class, references: 0 });
            // Four thousand million buffers do not fit any memory.
            (self.buffers.len() - 1) as u32
        })
    }

    fn copy(&mut self, from: usize, to: usize, length: usize) {
        if let Ok([from, to]) = self.buffers.get_disjoint_mut([from, to]) {
            to.bytes[..length].copy_from_slice(&from.bytes[..length]);
        }
    }
}
