//! Topologies in the file format of the HPCC simulator and of those made from it: counts, switches, one line for each link; and in
//! that of HTSIM.

mod htsim;

use trialwise_units::Rate;

use crate::index::NodeId;
use crate::quantity::{QuantityError, parse_duration, parse_rate};
use crate::routing::MAX_LINKS;
use crate::topology::{Link, Topology, TopologyError};

/// What the first line says.
struct Header {
    nodes: u32,
    /// Of all kinds.
    switches: u32,
    links: u32,
    /// Whether links may be fewer than announced, as in files of SimAI.
    may_be_short: bool,
    /// A number that decides nothing.
    unused: Option<&'static str>,
}

impl Topology {
    /// Reads a topology file, and gives the topology without what [`Topology::from_file`] says of it.
    pub fn from_hpcc(text: &str) -> Result<Self, TopologyError> {
        Self::from_file(text).map(|(topology, _)| topology)
    }

    /// Reads counts, the numbers of the switches, then `<first> <second> <rate> <delay> <loss>` for each link, with a sentence
    /// for each liberty that was taken with the text.
    ///
    /// The counts are `<nodes> <switches> <links>`, or those of ns3-datacenter (`<nodes> <switches> <tors> <links>`, and
    /// maybe two rates) or SimAI (`<nodes> <gpus of a server> <nvswitches> <switches> <links> <gpu>`, whose NVSwitches are
    /// switches here). As in the HPCC simulator, links beyond their count are not taken; what stands below may also be notes.
    /// A text that begins with a word such as `Nodes` is one of HTSIM.
    pub fn from_file(text: &str) -> Result<(Self, Vec<String>), TopologyError> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        if htsim::begins(text) {
            return htsim::read(text);
        }
        let mut lines = text.lines().enumerate().map(|(line, text)| (line + 1, text));
        let (line, first) = next_line(&mut lines)?;
        let header = Header::read(first).map_err(|problem| TopologyError::Line { line, problem })?;
        check_counts(line, header.nodes, header.links)?;
        let (line, listed) = if header.switches > 0 { next_line(&mut lines)? } else { (line, "") };
        let is_switch = read_switches(line, listed, header.nodes, header.switches)?;
        let (links, more) = read_links(&mut lines, &header)?;
        let there = links.len() + more;
        let counted = (there != header.links as usize).then(|| {
            let taken = if more > 0 { "the first of them are taken" } else { "all of them are taken" };
            format!("the topology announces {} links and has {there}: {taken}", header.links)
        });
        let unused = header.unused.map(|what| format!("{what} in the topology's first line decides nothing"));
        let topology =
            Self { is_switch, links, senders: Vec::new(), receivers: Vec::new(), bottleneck: None };
        Ok((topology, counted.into_iter().chain(unused).collect()))
    }

    /// The same network in that format.
    pub fn to_hpcc(&self) -> String {
        let switches = self.is_switch.iter().enumerate().filter(|(_, is_switch)| **is_switch);
        let switches: Vec<_> = switches.map(|(node, _)| node.to_string()).collect();
        let header = format!(
            "{} {} {}\n{}\n",
            self.is_switch.len(),
            switches.len(),
            self.links.len(),
            switches.join(" ")
        );
        let links = self.links.iter().map(|link| {
            let Link { first, second, rate, delay, loss } = link;
            format!("{} {} {} {}ps {loss}\n", first.get(), second.get(), spelled(*rate), delay.picoseconds())
        });
        header + &links.collect::<String>()
    }
}

impl Header {
    fn read(text: &str) -> Result<Self, String> {
        let words: Vec<_> = text.split_whitespace().collect();
        let numbers: Vec<f64> = words.iter().map_while(|word| word.parse().ok()).collect();
        let count = |place: usize| {
            let found = words[place].parse::<u32>();
            found.map_err(|_| format!("{:?} is no number of nodes, switches or links", words[place]))
        };
        let plain = Self { nodes: 0, switches: 0, links: 0, may_be_short: false, unused: None };
        match numbers.len() {
            3 => Ok(Self { nodes: count(0)?, switches: count(1)?, links: count(2)?, ..plain }),
            4 | 6 => {
                count(2)?;
                let unused = Some(if numbers.len() == 4 {
                    "the number of top-of-rack switches"
                } else {
                    "the number of top-of-rack switches and the rates"
                });
                Ok(Self { nodes: count(0)?, switches: count(1)?, links: count(3)?, unused, ..plain })
            }
            5 => {
                let (nvswitches, switches) = (count(2)?, count(3)?);
                count(1)?;
                Ok(Self {
                    nodes: count(0)?,
                    switches: nvswitches
                        .checked_add(switches)
                        .ok_or("these are too many switches".to_owned())?,
                    links: count(4)?,
                    may_be_short: true,
                    unused: Some("the number of GPUs of a server and their kind"),
                })
            }
            _ => Err("here stand the numbers of nodes, switches and links".to_owned()),
        }
    }
}

fn spelled(rate: Rate) -> String {
    let bits = rate.bits_per_second();
    if bits.is_multiple_of(1_000_000_000) {
        format!("{}Gbps", bits / 1_000_000_000)
    } else {
        format!("{bits}bps")
    }
}

fn next_line<'a>(
    lines: &mut impl Iterator<Item = (usize, &'a str)>,
) -> Result<(usize, &'a str), TopologyError> {
    lines.find(|(_, text)| !text.trim().is_empty()).ok_or(TopologyError::Short)
}

/// Refuses more than can be numbered before anything is allocated for it. Of a connected network, nodes are at most one more
/// than links.
fn check_counts(line: usize, nodes: u32, links: u32) -> Result<(), TopologyError> {
    if nodes as usize > MAX_LINKS + 1 || links as usize > MAX_LINKS {
        let problem = format!("{nodes} nodes and {links} links are too many: there may be {MAX_LINKS} links");
        return Err(TopologyError::Line { line, problem });
    }
    Ok(())
}

fn read_switches(line: usize, text: &str, nodes: u32, switches: u32) -> Result<Vec<bool>, TopologyError> {
    let mut is_switch = vec![false; nodes as usize];
    for word in text.split_whitespace() {
        let slot = word.parse().ok().and_then(|node: usize| is_switch.get_mut(node));
        let slot = slot.ok_or_else(|| TopologyError::Line {
            line,
            problem: format!("{word:?} is no node below {nodes}"),
        })?;
        *slot = true;
    }
    let counted = is_switch.iter().filter(|is_switch| **is_switch).count();
    if counted != switches as usize {
        let problem = format!("{counted} switches where the first line says {switches}");
        return Err(TopologyError::Line { line, problem });
    }
    Ok(is_switch)
}

/// The links that are announced, and how many more lines look like one.
fn read_links<'a>(
    lines: &mut impl Iterator<Item = (usize, &'a str)>,
    header: &Header,
) -> Result<(Vec<Link>, usize), TopologyError> {
    let mut links = Vec::new();
    while links.len() < header.links as usize {
        match next_line(lines) {
            Ok((line, text)) => links.push(read_link(line, text, header.nodes)?),
            Err(_) if header.may_be_short && !links.is_empty() => break,
            Err(short) => return Err(short),
        }
    }
    let more = lines.filter(|(line, text)| read_link(*line, text, header.nodes).is_ok()).count();
    Ok((links, more))
}

fn read_link(line: usize, text: &str, nodes: u32) -> Result<Link, TopologyError> {
    let wrong = |problem: &str| TopologyError::Line { line, problem: problem.to_owned() };
    let words: Vec<_> = text.split_whitespace().collect();
    let [first, second, rate, delay, loss] = &words[..] else {
        return Err(wrong("a link is: first node, second node, rate, delay, loss"));
    };
    let node = |word: &str| {
        let number = word.parse::<u32>().ok().filter(|number| *number < nodes);
        number.map(NodeId::new).ok_or_else(|| wrong("a link joins two nodes of the topology"))
    };
    let loss =
        loss.parse::<f64>().map_err(|_| wrong("the last number of a link is its loss, from 0 to 1"))?;
    Ok(Link {
        first: node(first)?,
        second: node(second)?,
        rate: link_rate(rate)?,
        delay: parse_duration(delay)?,
        loss,
    })
}

/// A rate as these files write it: with a unit, in bit/s without one (`25000000000.0`), or with a prefix alone (`25G`).
fn link_rate(text: &str) -> Result<Rate, QuantityError> {
    if text.ends_with(|last: char| last.is_ascii_digit() || last == '.') {
        parse_rate(&format!("{text}bit/s"))
    } else if text.ends_with(['k', 'K', 'M', 'G', 'T']) {
        parse_rate(&format!("{text}bps"))
    } else {
        parse_rate(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_again() {
        let topology: Topology = "fat-tree:4,100Gbit/s,1us".parse().unwrap();
        assert_eq!(Topology::from_file(&topology.to_hpcc()), Ok((topology, Vec::new())));
    }

    #[test]
    fn a_wrong_line_is_named() {
        let message = |text: &str| Topology::from_hpcc(text).unwrap_err().to_string();
        assert!(message("3 1 2\n2\n0 2 100Gbps 1us 0\n1 7 100Gbps 1us 0\n").starts_with("line 4"));
        assert!(message("3 1 2\n2\n0 2 100Gbps 1us 0\n").starts_with("the file ends"));
        assert!(message("3 2 1\n2\n0 2 100Gbps 1us 0\n").starts_with("line 2"));
        assert!(
            message("3 1\n2\n").starts_with("line 1: here stand the numbers of nodes, switches and links")
        );
        for counts in ["4000000000 1 2", "4 1 4000000000"] {
            assert!(message(&format!("{counts}\n2\n")).ends_with("there may be 2097151 links"), "{counts}");
        }
    }

    /// Headers and rates of the relatives of the HPCC simulator, each for the same two hosts on a switch.
    #[test]
    fn dialects_are_read_as_what_they_are() {
        let links = |rate: &str| format!("2\n0 2 {rate} 1us 0\n1 2 {rate} 0.001ms 0.000000\n");
        let plain = Topology::from_hpcc(&format!("3 1 2\n{}", links("25Gbps"))).unwrap();
        for (header, rate, told) in [
            ("3 1 2", "25000000000.0", 0),
            ("3 1 2", "25G", 0),
            ("3 1 2 # nodes switches links", "25000Mb/s", 0),
            ("3 1 1 2", "25000000000", 1),
            ("3 1 1 2 25000000000 100000000000.0", "25Gbps", 1),
            ("3 2 1 0 2 A100", "25Gbps", 1),
            ("3 2 1 0 2", "25Gbps", 1),
        ] {
            let (topology, cautions) = Topology::from_file(&format!("{header}\n{}", links(rate))).unwrap();
            assert_eq!((topology, cautions.len()), (plain.clone(), told), "{header} {rate}: {cautions:?}");
        }
    }

    #[test]
    fn another_number_of_links_is_told() {
        let told = |text: &str| Topology::from_file(text).unwrap().1[0].clone();
        let links = "2\n0 2 1Gbps 1us 0\n1 2 1Gbps 1us 0\n0 2 1Gbps 1us 0\nsrc0 dst0 rate delay loss\n";
        let more = "the topology announces 2 links and has 3: the first of them are taken";
        assert_eq!(told(&format!("3 1 2\n{links}")), more);
        let fewer = "the topology announces 4 links and has 2: all of them are taken";
        assert_eq!(told("3 1 1 0 4 H100\n2\n0 2 1Gbps 1us 0\n1 2 1Gbps 1us 0\n"), fewer);
    }
}
