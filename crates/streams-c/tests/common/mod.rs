//! What the tests of this crate share: the installed library, C programs built against it, and the rows they stream.
#![allow(dead_code, unreachable_pub, clippy::unwrap_used, reason = "each test file uses a part")]

use std::io::Read;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use streams::protocol::{Element, Event, Limits, StreamDecoder, Value};

/// How a program is linked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Link {
    Shared,
    Static,
}

/// An empty folder.
pub fn scratch(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("streams-c").join(name);
    let _ = std::fs::remove_dir_all(&path);
    std::fs::create_dir_all(&path).unwrap();
    path
}

/// The crate's folder.
pub fn home() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The library as `make install-c` lays it out, made once for each test program.
pub fn installed() -> &'static Path {
    static INSTALLED: OnceLock<PathBuf> = OnceLock::new();
    INSTALLED.get_or_init(|| {
        let test = std::env::current_exe().unwrap();
        let prefix = scratch(&format!("installed-{}", test.file_name().unwrap().to_str().unwrap()));
        let mut install = Command::new("sh");
        install.arg(home().join("install.sh")).arg(test.parent().unwrap()).arg(&prefix);
        succeed(&mut install);
        prefix
    })
}

/// Runs to the end; the output of what fails is shown.
pub fn succeed(command: &mut Command) -> Output {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{command:?}: {output:?}");
    output
}

/// Standard output as text.
pub fn text(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

/// Builds `tests/programs/NAME.c` (or .cpp) as a program of OML's is built, warnings being errors, in a folder of the
/// test's own.
pub fn build(name: &str, link: Link, more: &[&str]) -> PathBuf {
    let source = home().join("tests/programs").join(name);
    let test = std::thread::current().name().unwrap_or_default().replace("::", "-");
    let folder = scratch(&format!("{test}-{}-{link:?}", name.replace('.', "-")));
    let program = folder.join(source.file_stem().unwrap());
    compile(&source, &program, link, more);
    program
}

/// Builds a source.
pub fn compile(source: &Path, program: &Path, link: Link, more: &[&str]) {
    let plus = source.extension().is_some_and(|extension| extension == "cpp");
    let mut command = Command::new(if plus { "c++" } else { "cc" });
    let prefix = installed();
    command.args(["-g", "-Wall", "-Wextra", "-Werror"]).args(more);
    command.arg("-I").arg(prefix.join("include")).arg(source).arg("-o").arg(program);
    command.arg("-L").arg(prefix.join("lib"));
    match link {
        Link::Shared => {
            command.arg("-loml2").arg("-locomm").arg(format!("-Wl,-rpath,{}/lib", prefix.display()))
        }
        Link::Static => command.args(["-Wl,-Bstatic", "-loml2", "-locomm", "-Wl,-Bdynamic"]),
    };
    succeed(command.args(["-lpthread", "-lm"]));
}

/// A command without the measuring environment of whoever runs the tests.
pub fn command(program: &Path) -> Command {
    let mut command = Command::new(program);
    command.current_dir(program.parent().unwrap());
    for variable in ["OML_NAME", "OML_DOMAIN", "OML_EXP_ID", "OML_COLLECT", "OML_SERVER", "OML_CONFIG"] {
        command.env_remove(variable);
    }
    command
}

/// A row: the stream's name, the sequence number, and its values as text.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    pub stream: String,
    pub seq: i64,
    pub time: f64,
    pub values: Vec<String>,
}

/// All rows of a stream of bytes; none may be damaged.
pub fn decode(bytes: &[u8]) -> Vec<Row> {
    let mut decoder = StreamDecoder::new(Limits::default());
    decoder.push(bytes);
    decoder.finish();
    let mut rows = Vec::new();
    while let Some(event) = decoder.next_event().unwrap() {
        match event {
            Event::Header(_) => {}
            Event::Damaged(damage) => panic!("{damage:?}"),
            Event::Row(row) => rows.push(Row {
                stream: row.schema.name.clone(),
                seq: row.seq,
                time: row.timestamp,
                values: row.values().map(show).collect(),
            }),
        }
    }
    rows
}

/// The values of one stream's rows.
pub fn of<'a>(rows: &'a [Row], stream: &str) -> Vec<Vec<&'a str>> {
    let mine = rows.iter().filter(|row| row.stream == stream);
    mine.map(|row| row.values.iter().map(String::as_str).collect()).collect()
}

fn show(value: Value<'_>) -> String {
    match value {
        Value::Int32(value) => value.to_string(),
        Value::UInt32(value) => value.to_string(),
        Value::Int64(value) => value.to_string(),
        Value::UInt64(value) | Value::Guid(value) => value.to_string(),
        Value::Double(value) => value.to_string(),
        Value::Bool(value) => value.to_string(),
        Value::String(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        Value::Blob(bytes) => format!("{bytes:?}"),
        Value::Vector(vector) => vector.iter().map(show_element).collect::<Vec<_>>().join(" "),
        Value::Null => "NULL".to_owned(),
    }
}

fn show_element(element: Element) -> String {
    match element {
        Element::Int32(value) => value.to_string(),
        Element::UInt32(value) => value.to_string(),
        Element::Int64(value) => value.to_string(),
        Element::UInt64(value) => value.to_string(),
        Element::Double(value) => value.to_string(),
        Element::Bool(value) => value.to_string(),
    }
}

/// A collector that keeps the bytes of one connection; where it listens, and the bytes at its end.
pub fn receive() -> (String, JoinHandle<Vec<u8>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("tcp:{}", listener.local_addr().unwrap());
    let receiver = std::thread::spawn(move || {
        let mut bytes = Vec::new();
        listener.accept().unwrap().0.read_to_end(&mut bytes).unwrap();
        bytes
    });
    (address, receiver)
}

/// Waits for a program to end.
pub fn wait(mut child: std::process::Child) -> Output {
    let stop = Instant::now() + Duration::from_secs(20);
    while child.try_wait().unwrap().is_none() {
        assert!(Instant::now() < stop, "the program does not end");
        std::thread::sleep(Duration::from_millis(2));
    }
    child.wait_with_output().unwrap()
}
