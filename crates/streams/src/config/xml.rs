//! OML's XML configuration, with its old spellings (OML.md section 11).

use quick_xml::XmlVersion;
use quick_xml::events::{BytesStart, Event};
use quick_xml::reader::Reader;

use super::file::{File, FileCollect, FileFilter, FileStream, Property};

/// An element with its attributes and the elements in it; text is not used by the format.
#[derive(Debug, Default)]
struct Node {
    name: String,
    attributes: Vec<(String, String)>,
    children: Vec<Self>,
}

/// Most elements within each other: the format has five.
const DEEPEST: usize = 16;

pub(super) fn parse(text: &str) -> Result<File, String> {
    let root = parse_nodes(text)?;
    if root.name != "omlc" {
        return Err(format!("the root is <{}>, not <omlc>", root.name));
    }
    let collects = root.children.iter().filter(|node| node.name == "collect");
    Ok(File {
        domain: root.any(&["domain", "experiment", "exp_id"]),
        id: root.any(&["id"]),
        collect: collects.map(parse_collect).collect::<Result<_, _>>()?,
    })
}

fn parse_collect(node: &Node) -> Result<FileCollect, String> {
    let streams = node.children.iter().filter(|child| ["stream", "mp"].contains(&child.name.as_str()));
    Ok(FileCollect {
        url: node.need(&["url"])?,
        encoding: node.any(&["encoding"]),
        stream: streams.map(parse_stream).collect::<Result<_, _>>()?,
    })
}

/// `<stream mp= name=>`, of old `<mp name= rename=>`.
fn parse_stream(node: &Node) -> Result<FileStream, String> {
    let old = node.name == "mp";
    let (point, name) =
        if old { (&["name", "source"][..], "rename") } else { (&["mp", "source"][..], "name") };
    let filters = node.children.iter().filter(|child| ["filter", "f"].contains(&child.name.as_str()));
    Ok(FileStream {
        point: node.need(point)?,
        name: node.any(&[name]),
        samples: node.number("samples")?,
        interval: node.number("interval")?,
        // liboml2 makes fields of them in reverse (OML.md section 9): mixed fleets share tables.
        filter: filters.rev().map(parse_filter).collect::<Result<_, _>>()?,
    })
}

fn parse_filter(node: &Node) -> Result<FileFilter, String> {
    let properties = node.children.iter().filter(|child| ["property", "fp"].contains(&child.name.as_str()));
    let pair = |property: &Node| {
        let value = property.any(&["value"]).or_else(|| property.any(&["#text"])).unwrap_or_default();
        Ok((property.need(&["name"])?, Property::Text(value)))
    };
    Ok(FileFilter {
        field: node.need(&["field", "pname"])?,
        operation: node.any(&["operation", "fname"]).unwrap_or_default(),
        rename: node.any(&["rename", "sname"]),
        properties: properties.map(pair).collect::<Result<_, String>>()?,
    })
}

impl Node {
    /// The first attribute that is there, of several spellings.
    fn any(&self, names: &[&str]) -> Option<String> {
        let find = |name: &&str| self.attributes.iter().find(|(key, _)| key == name);
        names.iter().find_map(find).map(|(_, value)| value.clone())
    }

    fn need(&self, names: &[&str]) -> Result<String, String> {
        self.any(names).ok_or_else(|| format!("<{}> needs attribute {}", self.name, names[0]))
    }

    fn number<T: std::str::FromStr>(&self, name: &str) -> Result<Option<T>, String> {
        let text = self.any(&[name]);
        let parse = |text: String| text.trim().parse().map_err(|_| format!("{name}={text:?} is no number"));
        text.map(parse).transpose()
    }
}

/// Reads the elements; the text of a leaf becomes its attribute `#text`.
fn parse_nodes(text: &str) -> Result<Node, String> {
    let mut reader = Reader::from_str(text);
    let mut open = vec![Node::default()];
    loop {
        let at = |reader: &Reader<_>, error: &str| format!("byte {}: {error}", reader.buffer_position());
        match reader.read_event().map_err(|error| at(&reader, &error.to_string()))? {
            Event::Start(_) if open.len() > DEEPEST => return Err(at(&reader, "elements nest too deep")),
            Event::Start(start) => open.push(read_start(&start)?),
            Event::Empty(start) => add_child(&mut open, read_start(&start)?),
            Event::End(_) => {
                let node = open.pop().unwrap_or_default();
                add_child(&mut open, node);
            }
            Event::Text(content) => add_text(&mut open, content.as_ref()),
            Event::Eof if open.len() > 1 => return Err(at(&reader, "an element is not closed")),
            Event::Eof => break,
            _ => {}
        }
    }
    let root = open.pop().and_then(|document| document.children.into_iter().next());
    root.ok_or_else(|| "there is no element".to_owned())
}

fn add_child(open: &mut [Node], node: Node) {
    if let Some(parent) = open.last_mut() {
        parent.children.push(node);
    }
}

fn add_text(open: &mut [Node], text: &str) {
    let text = text.trim();
    if let (Some(node), false) = (open.last_mut(), text.is_empty()) {
        node.attributes.push(("#text".to_owned(), text.to_owned()));
    }
}

fn read_start(start: &BytesStart<'_>) -> Result<Node, String> {
    let mut node = Node { name: start.local_name().as_ref().to_owned(), ..Node::default() };
    for attribute in start.attributes() {
        let attribute = attribute.map_err(|error| format!("<{}>: {error}", node.name))?;
        let value = attribute.normalized_value(XmlVersion::Implicit1_0);
        let value = value.map_err(|error| format!("<{}>: {error}", node.name))?;
        node.attributes.push((attribute.key.0.to_owned(), value.into_owned()));
    }
    Ok(node)
}
