//! Tables of rules for [`Remy`](crate::Remy): what a file holds, whether it is whole, and the rule for what a flow remembers.

use std::fmt;

use serde::Deserialize;
use serde_json::Value as Json;

use crate::named_file::{Kept, read};

/// What a flow remembers, in the order of a file: averages of the gaps between acknowledgements and between departures in milliseconds,
/// the last round-trip time over the least, and a slower average of the gaps between acknowledgements.
pub(crate) const MEMORY: [&str; AXES] = ["ack_ewma_ms", "send_ewma_ms", "rtt_ratio", "slow_ack_ewma_ms"];
const AXES: usize = 4;
const FORMAT: &str = "remy-table";
const VERSION: u64 = 1;
/// Rules cover what is from 0 to less than this on each axis; what is beyond counts as the largest.
const END: f64 = 16_384.0;
/// Ranges of actions: multiples and increments of the window are those of the paper.
const MULTIPLES: (f64, f64) = (0.0, 2.0);
const INCREMENTS: (f64, f64) = (-256.0, 256.0);
const GAPS_MS: (f64, f64) = (0.01, 1000.0);
const MOST_RULES: usize = 512;
const MOST_BYTES: u64 = 1 << 20;
const MOST_DEPTH: usize = 256;
const MOST_NODES: usize = 1 << 16;

/// The tables that ship, by name.
const SHIPPED: [(&str, &str); 1] = [(DEFAULT, include_str!("../tables/trialwise-1x.json"))];
const DEFAULT: &str = "trialwise-1x";

static KNOWN: Kept<Table> = Kept::new();

/// A table that is wrong.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the table {name}: {problem}")]
pub struct TableError {
    /// Its name or file.
    pub name: String,
    /// What is wrong.
    pub problem: String,
}

/// What a rule does at an acknowledgement.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Action {
    /// The window in segments becomes so many times itself.
    pub(crate) multiple: f64,
    /// And so many segments more.
    pub(crate) increment: f64,
    /// At least this time passes between two departures, in milliseconds.
    pub(crate) gap_ms: f64,
}

/// A table of rules that is whole: one rule for everything that can be remembered.
#[derive(Clone, Copy)]
pub struct RuleTable(&'static Table);

struct Table {
    name: String,
    nodes: Box<[Node]>,
}

#[derive(Clone, Copy, Debug)]
enum Node {
    /// What is below `at` on this axis has its rule in the node that follows, the rest in the node of this number.
    Cut {
        axis: usize,
        at: f64,
        rest: usize,
    },
    Rule(Action),
}

impl RuleTable {
    /// The table of this name that ships, or of this file.
    ///
    /// # Errors
    /// There is neither, or what it says is no whole table.
    pub fn named(name: &str) -> Result<Self, TableError> {
        if let Some((name, text)) = SHIPPED.iter().find(|(known, _)| *known == name) {
            return Self::parse(name, text);
        }
        let refused = |problem| TableError { name: name.to_owned(), problem };
        let content = read(name, MOST_BYTES, &SHIPPED.map(|(name, _)| name)).map_err(refused)?;
        let text = String::from_utf8(content).map_err(|_| refused("is no text".to_owned()))?;
        Self::parse(name, &text)
    }

    /// The table that this text holds.
    ///
    /// # Errors
    /// It does not hold a whole table.
    pub fn parse(name: &str, text: &str) -> Result<Self, TableError> {
        let make = || {
            let nodes = nodes(text).map_err(|problem| TableError { name: name.to_owned(), problem })?;
            Ok(Table { name: name.to_owned(), nodes: nodes.into_boxed_slice() })
        };
        KNOWN.get(text.as_bytes(), make).map(Self)
    }

    /// The rule for what is remembered.
    pub(crate) fn action(self, memory: &[f64; AXES]) -> Action {
        rule_in(&self.0.nodes, memory)
    }

    /// How many rules there are at most for the parts into which lookup divides what can be remembered.
    pub fn parts(self) -> usize {
        self.0.nodes.iter().filter(|node| matches!(node, Node::Rule(_))).count()
    }
}

impl Default for RuleTable {
    /// The table that ships.
    fn default() -> Self {
        // A test reads it.
        Self::named(DEFAULT).unwrap_or_else(|error| panic!("{error}"))
    }
}

impl PartialEq for RuleTable {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self.0, other.0)
    }
}

impl fmt::Debug for RuleTable {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "RuleTable({})", self.0.name)
    }
}

fn rule_in(nodes: &[Node], memory: &[f64; AXES]) -> Action {
    let mut number = 0;
    loop {
        match nodes[number] {
            Node::Cut { axis, at, rest } => number = if memory[axis] < at { number + 1 } else { rest },
            Node::Rule(action) => return action,
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    format: String,
    version: u64,
    memory: Vec<String>,
    rules: Vec<Rule>,
    /// How it was made: for people.
    #[serde(default, rename = "trained")]
    _trained: Option<Json>,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
struct Rule {
    low: [f64; AXES],
    high: [f64; AXES],
    window_multiple: f64,
    window_increment: f64,
    gap_ms: f64,
}

/// What lies between these corners.
type Region = ([f64; AXES], [f64; AXES]);

impl Rule {
    fn overlaps(&self, (low, high): &Region) -> bool {
        (0..AXES).all(|axis| self.low[axis] < high[axis] && low[axis] < self.high[axis])
    }

    const fn action(&self) -> Action {
        Action { multiple: self.window_multiple, increment: self.window_increment, gap_ms: self.gap_ms }
    }

    fn check(&self, number: usize) -> Result<(), String> {
        for (key, value, (least, most)) in [
            ("window_multiple", self.window_multiple, MULTIPLES),
            ("window_increment", self.window_increment, INCREMENTS),
            ("gap_ms", self.gap_ms, GAPS_MS),
        ] {
            if !(least..=most).contains(&value) {
                return Err(format!("rule {number}: {key} is {value}; it is from {least} to {most}"));
            }
        }
        for (axis, name) in MEMORY.iter().enumerate() {
            let (low, high) = (self.low[axis], self.high[axis]);
            if !(0.0 <= low && low < high && high <= END) {
                return Err(format!(
                    "rule {number}: {name} is from {low} to {high}; it is from a lower to a higher number between 0 and {END}"
                ));
            }
        }
        Ok(())
    }
}

/// Reads and checks a table, for lookup.
fn nodes(text: &str) -> Result<Vec<Node>, String> {
    let written: Written =
        serde_json::from_str(text).map_err(|error| format!("is no table of rules: {error}"))?;
    if written.format != FORMAT || written.version != VERSION {
        let (format, version) = (&written.format, written.version);
        return Err(format!("is {format:?} of version {version}; known is {FORMAT:?} of version {VERSION}"));
    }
    if written.memory != MEMORY {
        return Err(format!("remembers {}; known is {}", written.memory.join(", "), MEMORY.join(", ")));
    }
    let rules = written.rules;
    if !(1..=MOST_RULES).contains(&rules.len()) {
        return Err(format!("has {} rules; there are from 1 to {MOST_RULES}", rules.len()));
    }
    (1..).zip(&rules).try_for_each(|(number, rule)| rule.check(number))?;
    check_overlaps(&rules)?;
    let mut nodes = Vec::new();
    divide(&mut nodes, &([0.0; AXES], [END; AXES]), &rules.iter().collect::<Vec<_>>(), 0)?;
    let start = rule_in(&nodes, &[0.0; AXES]);
    if start.increment < 1.0 {
        return Err(format!(
            "a flow would never begin: the rule for an empty memory makes a window of {} from one of 0; it takes 1 at least",
            start.increment
        ));
    }
    Ok(nodes)
}

fn check_overlaps(rules: &[Rule]) -> Result<(), String> {
    for (number, rule) in rules.iter().enumerate() {
        let region = (rule.low, rule.high);
        if let Some(other) = rules[..number].iter().position(|other| other.overlaps(&region)) {
            return Err(format!("rules {} and {} overlap", other + 1, number + 1));
        }
    }
    Ok(())
}

/// Adds the nodes of a region, which these rules share.
fn divide(nodes: &mut Vec<Node>, region: &Region, rules: &[&Rule], depth: usize) -> Result<(), String> {
    let inside: Vec<&Rule> = rules.iter().copied().filter(|rule| rule.overlaps(region)).collect();
    let Some((axis, at)) = cut(region, &inside) else {
        // Rules that do not overlap and have no border in the region: one that covers it, or none.
        let rule = inside.first().ok_or_else(|| {
            let corner: Vec<_> =
                (0..AXES).map(|axis| format!("{} = {}", MEMORY[axis], region.0[axis])).collect();
            format!("has no rule for {}", corner.join(", "))
        })?;
        nodes.push(Node::Rule(rule.action()));
        return Ok(());
    };
    if depth == MOST_DEPTH || nodes.len() >= MOST_NODES {
        return Err("divides what can be remembered into too many parts".to_owned());
    }
    let number = nodes.len();
    nodes.push(Node::Cut { axis, at, rest: 0 });
    let (mut below, mut rest) = (*region, *region);
    below.1[axis] = at;
    rest.0[axis] = at;
    divide(nodes, &below, &inside, depth + 1)?;
    nodes[number] = Node::Cut { axis, at, rest: nodes.len() };
    divide(nodes, &rest, &inside, depth + 1)
}

/// The border of a rule inside the region that goes through the fewest rules, and of these the one that divides them best.
fn cut(region: &Region, rules: &[&Rule]) -> Option<(usize, f64)> {
    let mut best = None;
    for axis in 0..AXES {
        let borders = rules.iter().flat_map(|rule| [rule.low[axis], rule.high[axis]]);
        for at in borders.filter(|at| region.0[axis] < *at && *at < region.1[axis]) {
            let below = rules.iter().filter(|rule| rule.high[axis] <= at).count();
            let above = rules.iter().filter(|rule| rule.low[axis] >= at).count();
            let cost = (rules.len() - below - above, below.abs_diff(above));
            if best.is_none_or(|(least, _, _)| cost < least) {
                best = Some((cost, axis, at));
            }
        }
    }
    best.map(|(_, axis, at)| (axis, at))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(low: [f64; AXES], high: [f64; AXES], increment: f64) -> String {
        format!(
            r#"{{"low": {low:?}, "high": {high:?}, "window_multiple": 1, "window_increment": {increment}, "gap_ms": 1}}"#
        )
    }

    fn table(rules: &[String]) -> String {
        let memory = MEMORY.map(|name| format!("{name:?}")).join(", ");
        let rules = rules.join(", ");
        format!(r#"{{"format": "remy-table", "version": 1, "memory": [{memory}], "rules": [{rules}]}}"#)
    }

    fn whole() -> String {
        table(&[rule([0.0; AXES], [END; AXES], 1.0)])
    }

    fn problem(text: &str) -> String {
        RuleTable::parse("mine", text).unwrap_err().to_string()
    }

    /// Boxes as a trainer divides them: each at a point in it, along some axes.
    fn divided(points: &[[f64; AXES]]) -> Vec<Region> {
        let mut boxes = vec![([0.0; AXES], [END; AXES])];
        for point in points {
            let place = boxes
                .iter()
                .position(|(low, high)| (0..AXES).all(|axis| (low[axis]..high[axis]).contains(&point[axis])));
            let mut parts = vec![boxes.remove(place.unwrap())];
            for axis in 0..AXES {
                let halves = parts.iter().flat_map(|(low, high)| {
                    let (mut below, mut above) = ((*low, *high), (*low, *high));
                    below.1[axis] = point[axis];
                    above.0[axis] = point[axis];
                    [below, above]
                });
                parts = halves.filter(|(low, high)| low[axis] < high[axis]).collect();
            }
            boxes.extend(parts);
        }
        boxes
    }

    #[test]
    fn the_tables_that_ship_are_whole() {
        for (name, _) in SHIPPED {
            assert!(RuleTable::named(name).unwrap().parts() > 0);
        }
    }

    #[test]
    fn lookup_finds_the_box_that_holds_a_memory() {
        let mut seed = 1_u64;
        let mut draw = |end: f64| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            ((seed >> 11) as f64 / (1_u64 << 53) as f64 * end).floor()
        };
        let points: Vec<[f64; AXES]> = (0..20).map(|_| [0; AXES].map(|_| draw(END))).collect();
        let boxes = divided(&points);
        let rules: Vec<_> = (1..)
            .zip(&boxes)
            .map(|(number, (low, high))| rule(*low, *high, f64::from(number) / 2.0 + 1.0))
            .collect();
        let table = RuleTable::parse("mine", &table(&rules)).unwrap();
        assert!(boxes.len() > 200);
        let memories = (0..1000).map(|_| [0; AXES].map(|_| draw(END)));
        for memory in memories.collect::<Vec<_>>().iter().chain(&points).chain(&[[0.0; AXES]]) {
            let place = boxes.iter().position(|(low, high)| {
                (0..AXES).all(|axis| (low[axis]..high[axis]).contains(&memory[axis]))
            });
            assert_eq!(table.action(memory).increment, (place.unwrap() + 1) as f64 / 2.0 + 1.0, "{memory:?}");
        }
    }

    #[test]
    fn what_is_beyond_all_boxes_counts_as_the_largest() {
        let mut low = [0.0; AXES];
        low[2] = 2.0;
        let mut high = [END; AXES];
        high[2] = 2.0;
        let table =
            RuleTable::parse("mine", &table(&[rule([0.0; AXES], high, 1.0), rule(low, [END; AXES], 2.0)]));
        assert_eq!(table.unwrap().action(&[1e300, 0.0, 1e300, 0.0]).increment, 2.0);
    }

    #[test]
    fn the_same_text_is_the_same_table() {
        let [first, second] = [whole(), whole()].map(|text| RuleTable::parse("mine", &text).unwrap());
        assert_eq!(first, second);
        assert_ne!(
            first,
            RuleTable::parse("mine", &whole().replace("\"gap_ms\": 1", "\"gap_ms\": 2")).unwrap()
        );
    }

    #[test]
    fn gaps_and_overlaps_are_refused() {
        let mut middle = [END; AXES];
        middle[0] = 10.0;
        let mut beyond = [0.0; AXES];
        beyond[0] = 11.0;
        let said = problem(&table(&[rule([0.0; AXES], middle, 1.0), rule(beyond, [END; AXES], 1.0)]));
        assert!(
            said.contains("the table mine: has no rule for ack_ewma_ms = 10, send_ewma_ms = 0"),
            "{said}"
        );
        beyond[0] = 9.0;
        let said = problem(&table(&[rule([0.0; AXES], middle, 1.0), rule(beyond, [END; AXES], 1.0)]));
        assert!(said.contains("rules 1 and 2 overlap"), "{said}");
    }

    #[test]
    fn what_is_damaged_or_of_another_kind_is_refused() {
        let whole = whole();
        for (old, new, said) in [
            ("", "", "is no table of rules: EOF"),
            ("remy-table", "onnx", "is \"onnx\" of version 1; known is \"remy-table\" of version 1"),
            ("\"version\": 1", "\"version\": 2", "of version 2"),
            (
                ", \"slow_ack_ewma_ms\"",
                "",
                "remembers ack_ewma_ms, send_ewma_ms, rtt_ratio; known is ack_ewma_ms",
            ),
            ("[0.0, 0.0, 0.0, 0.0]", "[0, 0, 0]", "an array of length 4"),
            ("\"gap_ms\": 1", "\"gap_ms\": NaN", "is no table of rules"),
            ("\"gap_ms\": 1", "\"gap_ms\": 1e999", "number out of range"),
            ("\"gap_ms\": 1", "\"gap_ms\": 0", "rule 1: gap_ms is 0; it is from 0.01 to 1000"),
            (
                "\"window_multiple\": 1",
                "\"window_multiple\": 2.5",
                "window_multiple is 2.5; it is from 0 to 2",
            ),
            ("\"window_increment\": 1", "\"window_increment\": 257", "it is from -256 to 256"),
            ("\"window_increment\": 1", "\"window_increment\": 0", "a flow would never begin"),
            ("[0.0, 0.0, 0.0, 0.0]", "[-1, 0, 0, 0]", "ack_ewma_ms is from -1 to 16384"),
            ("\"low\"", "\"lowest\"", "unknown field `lowest`"),
        ] {
            let text = if old.is_empty() { String::new() } else { whole.replace(old, new) };
            let found = problem(&text);
            assert!(found.contains(said), "{found}");
        }
        assert!(problem(&table(&[])).contains("has 0 rules"));
    }

    #[test]
    fn a_file_that_cannot_be_read_says_what_may_be_given() {
        for name in ["/nowhere/table.json", "/"] {
            let said = RuleTable::named(name).unwrap_err().to_string();
            assert!(said.contains(name) && said.contains("trialwise-1x"), "{said}");
        }
        let said = RuleTable::named("/dev/zero").unwrap_err().to_string();
        assert!(said.contains("longer than 1 MiB"), "{said}");
    }
}
