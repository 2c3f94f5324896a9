//! Topologies in the file format of the HPCC simulator: counts, switches, one line for each link.

use trialwise_units::Rate;

use crate::index::NodeId;
use crate::quantity::{parse_duration, parse_rate};
use crate::routing::MOST_LINKS;
use crate::topology::{Link, Topology, TopologyError};

impl Topology {
    /// Reads `<nodes> <switches> <links>`, the numbers of the switches, then `<first> <second> <rate> <delay>
    /// <loss>` for each link.
    pub fn from_hpcc(text: &str) -> Result<Self, TopologyError> {
        let mut lines = text.lines().enumerate().map(|(line, text)| (line + 1, text));
        let (line, header) = next_line(&mut lines)?;
        let [nodes, switches, links] = numbers(line, header, "nodes, switches and links")?;
        check_counts(line, nodes, links)?;
        let (line, listed) = if switches > 0 { next_line(&mut lines)? } else { (line, "") };
        let is_switch = read_switches(line, listed, nodes, switches)?;
        let links = (0..links)
            .map(|_| next_line(&mut lines).and_then(|(line, text)| read_link(line, text, nodes)))
            .collect::<Result<_, _>>()?;
        Ok(Self { is_switch, links, senders: Vec::new(), receivers: Vec::new(), bottleneck: None })
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

fn numbers<const N: usize>(line: usize, text: &str, what: &str) -> Result<[u32; N], TopologyError> {
    let numbers: Vec<u32> = text.split_whitespace().map_while(|word| word.parse().ok()).collect();
    numbers
        .try_into()
        .map_err(|_| TopologyError::Line { line, problem: format!("here stand {N} numbers: {what}") })
}

/// Refuses more than can be numbered before anything is allocated for it. Of a connected network, nodes are at most one more
/// than links.
fn check_counts(line: usize, nodes: u32, links: u32) -> Result<(), TopologyError> {
    if nodes as usize > MOST_LINKS + 1 || links as usize > MOST_LINKS {
        let problem =
            format!("{nodes} nodes and {links} links are too many: there may be {MOST_LINKS} links");
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
        rate: parse_rate(rate)?,
        delay: parse_duration(delay)?,
        loss,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_again() {
        let topology: Topology = "fat-tree:4,100Gbit/s,1us".parse().unwrap();
        assert_eq!(Topology::from_hpcc(&topology.to_hpcc()), Ok(topology));
    }

    #[test]
    fn a_wrong_line_is_named() {
        let message = |text: &str| Topology::from_hpcc(text).unwrap_err().to_string();
        assert!(message("3 1 2\n2\n0 2 100Gbps 1us 0\n1 7 100Gbps 1us 0\n").starts_with("line 4"));
        assert!(message("3 1 2\n2\n0 2 100Gbps 1us 0\n").starts_with("the file ends"));
        assert!(message("3 2 1\n2\n0 2 100Gbps 1us 0\n").starts_with("line 2"));
        for counts in ["4000000000 1 2", "4 1 4000000000"] {
            assert!(message(&format!("{counts}\n2\n")).ends_with("there may be 2097151 links"), "{counts}");
        }
    }
}
