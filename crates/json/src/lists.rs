//! Where the long lists of a document stand.

use crate::scanner::{MAX_DEPTH, Scanner, Written};

/// Keys of an object that are compared with each other; those of a larger one are sorted.
const FEW_KEYS: usize = 32;

/// What makes a list long, in bytes.
#[derive(Debug, Clone, Copy)]
pub struct Sizes {
    /// Of the list, at least.
    pub least: usize,
    /// Of each of its entries, at most: a list with a longer one is looked into.
    pub longest_entry: usize,
    /// Of a block of entries, at least.
    pub block: usize,
}

/// How to come from a list or an object to what stands in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// By the key of an object.
    Key(String),
    /// By the place in a list.
    Place(usize),
}

/// A list with many entries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LongList {
    /// From the document to the list.
    pub path: Vec<Step>,
    /// Where its bracket opens.
    pub begin: usize,
    /// Behind its closing bracket.
    pub end: usize,
    /// Number of entries.
    pub length: usize,
    /// Number of the first entry of each block after the first one, and where that entry begins.
    pub blocks: Vec<(usize, usize)>,
}

/// Returns the long lists of a document of which none lies in another, in their order.
///
/// None if it is no single document of valid JSON, an object of it has a key twice (or seems to), it is nested deeper than 200, or has
/// a string that is no Unicode or a whole number beyond the range of doubles.
#[must_use]
pub fn long_lists(text: &[u8], sizes: Sizes) -> Option<Vec<LongList>> {
    let mut finder = Finder { scanner: Scanner::new(text)?, sizes, keys: Vec::new(), found: Vec::new() };
    finder.value(0)?;
    finder.scanner.peek().is_none().then(|| {
        for list in &mut finder.found {
            list.path.reverse();
        }
        finder.found
    })
}

struct Finder<'text> {
    scanner: Scanner<'text>,
    sizes: Sizes,
    /// Hashes of the keys of all objects that are open.
    keys: Vec<u64>,
    /// With paths from their end to the beginning.
    found: Vec<LongList>,
}

impl Finder<'_> {
    fn value(&mut self, depth: usize) -> Option<()> {
        if depth > MAX_DEPTH {
            return None;
        }
        match self.scanner.peek()? {
            b'{' => self.object(depth),
            b'[' => self.list(depth),
            _ => self.scanner.scalar(),
        }
    }

    fn object(&mut self, depth: usize) -> Option<()> {
        if self.scanner.opens_empty(b'{', b'}')? {
            return Some(());
        }
        let first = self.keys.len();
        loop {
            let key = self.scanner.key()?;
            self.keys.push(hash(key)?);
            let before = self.found.len();
            self.value(depth + 1)?;
            if self.found.len() > before {
                let name = String::from_utf8(key.unescaped()?.into_owned()).ok()?;
                self.step(before, &Step::Key(name));
            }
            if !self.scanner.goes_on(b'}')? {
                break;
            }
        }
        let is_unique = are_unique(&mut self.keys[first..]);
        self.keys.truncate(first);
        is_unique.then_some(())
    }

    fn list(&mut self, depth: usize) -> Option<()> {
        let begin = self.scanner.at;
        if self.scanner.opens_empty(b'[', b']')? {
            return Some(());
        }
        let outer = self.found.len();
        let (mut length, mut longest, mut blocks, mut block) = (0, 0, Vec::new(), begin);
        loop {
            self.scanner.peek()?;
            let (entry, before) = (self.scanner.at, self.found.len());
            if entry - block > self.sizes.block {
                blocks.push((length, entry));
                block = entry;
            }
            self.value(depth + 1)?;
            if self.found.len() > before {
                self.step(before, &Step::Place(length));
            }
            longest = longest.max(self.scanner.at - entry);
            length += 1;
            if !self.scanner.goes_on(b']')? {
                break;
            }
        }
        let end = self.scanner.at;
        if end - begin >= self.sizes.least && longest <= self.sizes.longest_entry {
            self.found.truncate(outer);
            self.found.push(LongList { path: Vec::new(), begin, end, length, blocks });
        }
        Some(())
    }

    fn step(&mut self, from: usize, step: &Step) {
        for list in &mut self.found[from..] {
            list.path.push(step.clone());
        }
    }
}

/// FNV-1a: equal hashes of different keys have the document refused, which is parsed in another way then.
fn hash(key: Written<'_>) -> Option<u64> {
    let bytes = key.unescaped()?;
    Some(
        bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
            (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
        }),
    )
}

fn are_unique(keys: &mut [u64]) -> bool {
    if keys.len() <= FEW_KEYS {
        return keys.iter().enumerate().all(|(number, key)| !keys[..number].contains(key));
    }
    keys.sort_unstable();
    keys.windows(2).all(|pair| pair[0] != pair[1])
}
