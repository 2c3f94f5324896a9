//! The entries of a list as columns.

use std::borrow::Cow;
use std::collections::HashMap;

use crate::scanner::Scanner;

/// Objects in objects, at most.
const MAX_LEVELS: usize = 8;
const MAX_COLUMNS: usize = 4096;
/// Bytes of the list for each cell, at least, once there are more than `FEW_CELLS`: columns take a few times its memory at most.
const BYTES_OF_CELL: usize = 4;
const FEW_CELLS: usize = 65_536;

/// What an entry has in a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    /// Nothing.
    Absent,
    /// `null`.
    Null,
    /// `false`.
    False,
    /// `true`.
    True,
    /// A number without fraction and exponent.
    Whole,
    /// Any other number.
    Double,
    /// A string.
    Text,
    /// A list of numbers, or an empty one.
    Numbers,
    /// Any other list.
    List,
    /// An object, whose members are columns of their own.
    Object,
}

/// What the entries of a list have under one key, or under a key of an object in them.
#[derive(Debug, Default)]
pub struct Column {
    /// The keys.
    pub path: Vec<String>,
    /// [`Kind`] of each entry.
    pub kinds: Vec<u8>,
    /// The number of each entry, NaN where it has none; empty if none has one.
    pub values: Vec<f64>,
    /// Which of `texts` each entry has, 0 where it has none; empty if none has one.
    pub codes: Vec<u32>,
    /// The different texts in their order.
    pub texts: Vec<String>,
    /// The numbers of all lists of numbers, one after another.
    pub inner: Vec<f64>,
    /// Where those of each entry begin, and at last where they end; empty if none has such a list.
    pub bounds: Vec<i64>,
}

/// The columns of a list of objects, in the order in which their keys occur.
///
/// None if that is no such list, has an object with a key twice, or would take many times its size.
#[must_use]
pub fn columns(list: &[u8]) -> Option<Vec<Column>> {
    let mut reader =
        Reader { scanner: Scanner::new(list)?, columns: Vec::new(), levels: vec![Level::default()] };
    let mut length = 0;
    if !reader.scanner.opens_empty(b'[', b']')? {
        loop {
            reader.object(0, length, 1)?;
            length += 1;
            if length * reader.columns.len() > FEW_CELLS.max(list.len() / BYTES_OF_CELL) {
                return None;
            }
            if !reader.scanner.goes_on(b']')? {
                break;
            }
        }
    }
    reader
        .scanner
        .peek()
        .is_none()
        .then(|| reader.columns.into_iter().map(|made| made.ended(length)).collect())
}

/// The numbers of a list.
#[derive(Debug)]
pub struct Numbers {
    /// NaN where null stands.
    pub values: Vec<f64>,
    /// How often null stands.
    pub nulls: usize,
    /// Whether all are without fraction and exponent.
    pub are_whole: bool,
}

/// The numbers of a list of finite numbers and nulls. None if it is another one.
#[must_use]
pub fn numbers(list: &[u8]) -> Option<Numbers> {
    let mut scanner = Scanner::new(list)?;
    let mut found = Numbers { values: Vec::new(), nulls: 0, are_whole: true };
    if !scanner.opens_empty(b'[', b']')? {
        loop {
            if scanner.peek()? == b'n' {
                scanner.word(b"null")?;
                found.nulls += 1;
                found.values.push(f64::NAN);
            } else {
                let number = scanner.number()?;
                found.are_whole &= number.is_whole;
                found.values.push(number.value().filter(|value| value.is_finite())?);
            }
            if !scanner.goes_on(b']')? {
                break;
            }
        }
    }
    scanner.peek().is_none().then_some(found)
}

struct Reader<'text> {
    scanner: Scanner<'text>,
    columns: Vec<Making<'text>>,
    /// The keys of the entries, and of the objects in them.
    levels: Vec<Level<'text>>,
}

#[derive(Default)]
struct Level<'text> {
    path: Vec<String>,
    /// The keys in the order in which they occurred first, with their columns.
    order: Vec<(Cow<'text, [u8]>, usize)>,
    /// The place of each in that order.
    places: HashMap<Cow<'text, [u8]>, usize>,
}

/// A column that is being filled: its parts are as long as what came last.
#[derive(Default)]
struct Making<'text> {
    column: Column,
    codes: HashMap<Cow<'text, [u8]>, u32>,
    last: Option<(&'text [u8], u32)>,
    level: Option<usize>,
}

impl<'text> Reader<'text> {
    fn object(&mut self, level: usize, row: usize, depth: usize) -> Option<()> {
        if depth > MAX_LEVELS {
            return None;
        }
        if self.scanner.opens_empty(b'{', b'}')? {
            return Some(());
        }
        let mut place = 0;
        loop {
            let key = self.scanner.key()?.unescaped()?;
            let column = self.column(level, &mut place, key)?;
            self.cell(column, row, depth)?;
            if !self.scanner.goes_on(b'}')? {
                return Some(());
            }
        }
    }

    /// The column of a key. Objects mostly have the same keys in the same order, so the one at `place` is tried first.
    fn column(&mut self, level: usize, place: &mut usize, key: Cow<'text, [u8]>) -> Option<usize> {
        let keys = &mut self.levels[level];
        if let Some((expected, column)) = keys.order.get(*place)
            && *expected == key
        {
            *place += 1;
            return Some(*column);
        }
        let known = if let Some(known) = keys.places.get(&key) {
            *known
        } else {
            let made = self.columns.len();
            if made == MAX_COLUMNS {
                return None;
            }
            let mut path = keys.path.clone();
            path.push(String::from_utf8(key.to_vec()).ok()?);
            keys.places.insert(key.clone(), keys.order.len());
            keys.order.push((key, made));
            let column = Column { path, ..Column::default() };
            self.columns.push(Making { column, ..Making::default() });
            keys.order.len() - 1
        };
        *place = known + 1;
        Some(keys.order[known].1)
    }

    fn cell(&mut self, column: usize, row: usize, depth: usize) -> Option<()> {
        let made = &mut self.columns[column];
        if made.column.kinds.len() > row {
            return None; // the key stands twice
        }
        let scanner = &mut self.scanner;
        let kind = match scanner.peek()? {
            b'{' => {
                made.kind(row, Kind::Object);
                let level = self.level(column);
                return self.object(level, row, depth + 1);
            }
            b'[' => made.list(scanner, row, depth)?,
            b'"' => {
                let written = scanner.string()?;
                made.text(row, written.bytes, written.unescaped()?)?;
                Kind::Text
            }
            b't' => scanner.word(b"true").map(|()| Kind::True)?,
            b'f' => scanner.word(b"false").map(|()| Kind::False)?,
            b'n' => scanner.word(b"null").map(|()| Kind::Null)?,
            _ => {
                let number = scanner.number()?;
                made.column.values.resize(row, f64::NAN);
                made.column.values.push(number.value()?);
                if number.is_whole { Kind::Whole } else { Kind::Double }
            }
        };
        made.kind(row, kind);
        Some(())
    }

    fn level(&mut self, column: usize) -> usize {
        let made = &mut self.columns[column];
        *made.level.get_or_insert_with(|| {
            self.levels.push(Level { path: made.column.path.clone(), ..Level::default() });
            self.levels.len() - 1
        })
    }
}

impl<'text> Making<'text> {
    fn kind(&mut self, row: usize, kind: Kind) {
        self.column.kinds.resize(row, Kind::Absent as u8);
        self.column.kinds.push(kind as u8);
    }

    fn text(&mut self, row: usize, written: &'text [u8], text: Cow<'text, [u8]>) -> Option<()> {
        let code = match self.last {
            Some((last, code)) if last == written => code,
            _ => self.code(text)?,
        };
        self.last = Some((written, code));
        self.column.codes.resize(row, 0);
        self.column.codes.push(code);
        Some(())
    }

    fn code(&mut self, text: Cow<'text, [u8]>) -> Option<u32> {
        if let Some(code) = self.codes.get(&text) {
            return Some(*code);
        }
        let code = u32::try_from(self.column.texts.len()).ok()?;
        self.column.texts.push(String::from_utf8(text.to_vec()).ok()?);
        self.codes.insert(text, code);
        Some(code)
    }

    /// Reads a list of numbers; any other one is passed over.
    fn list(&mut self, scanner: &mut Scanner<'text>, row: usize, depth: usize) -> Option<Kind> {
        let (begin, before) = (scanner.at, self.column.inner.len());
        if self.inner(scanner).is_none() {
            scanner.at = begin;
            self.column.inner.truncate(before);
            scanner.skip(depth)?;
            return Some(Kind::List);
        }
        let start = i64::try_from(before).ok()?;
        self.column.bounds.resize(row + 1, start);
        self.column.bounds.push(i64::try_from(self.column.inner.len()).ok()?);
        Some(Kind::Numbers)
    }

    fn inner(&mut self, scanner: &mut Scanner<'text>) -> Option<()> {
        if scanner.opens_empty(b'[', b']')? {
            return Some(());
        }
        loop {
            scanner.peek()?;
            self.column.inner.push(scanner.number()?.value()?);
            if !scanner.goes_on(b']')? {
                return Some(());
            }
        }
    }

    fn ended(self, length: usize) -> Column {
        let mut column = self.column;
        column.kinds.resize(length, Kind::Absent as u8);
        if !column.values.is_empty() {
            column.values.resize(length, f64::NAN);
        }
        if !column.codes.is_empty() {
            column.codes.resize(length, 0);
        }
        if let Some(last) = column.bounds.last().copied() {
            column.bounds.resize(length + 1, last);
        }
        column
    }
}
