//! Options, environment and files, and which of them wins.

#![allow(clippy::unwrap_used, reason = "a test")]

mod common;

use std::time::Duration;

use common::recorded;
use trialwise_streams::config::{Config, ConfigError, DEFAULT_BUFFER, Destination, Disposition, MIN_BUFFER};
use trialwise_streams::filter::Window;
use trialwise_streams::protocol::Content;

fn read_with(
    arguments: &str,
    environment: &[(&str, &str)],
) -> (Result<Disposition, ConfigError>, Vec<String>) {
    let mut arguments: Vec<_> = arguments.split_whitespace().map(str::to_owned).collect();
    let variable =
        |name: &str| environment.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned());
    let read = Config::from_arguments("bin/app", &mut arguments, &variable);
    (read, arguments)
}

fn read(arguments: &str, environment: &[(&str, &str)]) -> Config {
    match read_with(arguments, environment).0.unwrap() {
        Disposition::Run(config) => *config,
        other => panic!("{other:?}"),
    }
}

fn refuse(arguments: &str) -> String {
    read_with(arguments, &[]).0.unwrap_err().to_string()
}

fn write(name: &str, text: &str) -> String {
    let path = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::write(&path, text).unwrap();
    path.display().to_string()
}

#[test]
fn options_are_taken_out_of_the_arguments() {
    let (config, rest) =
        read_with("-x --oml-id n --oml-domain=d --oml-collect tcp:h:1 in --oml-text --oml-samples 5", &[]);
    let Disposition::Run(config) = config.unwrap() else { panic!() };
    assert_eq!(rest, ["-x", "in"]);
    assert_eq!((config.sender_id.as_str(), config.domain.as_str()), ("n", "d"));
    assert_eq!(config.collects[0].destination, Destination::Tcp { host: "h".into(), port: 1 });
    assert_eq!(config.collects[0].content, Content::Text);
    assert_eq!(config.window, Window::Samples(5));
}

#[test]
fn what_is_left_of_the_arguments_are_the_callers_own_items() {
    struct Word(&'static str, usize);
    impl AsRef<str> for Word {
        fn as_ref(&self) -> &str {
            self.0
        }
    }
    let words = ["same", "--oml-id", "same", "same"];
    let mut items: Vec<_> = words.into_iter().enumerate().map(|(place, text)| Word(text, place)).collect();
    Config::from_arguments("app", &mut items, &|_| None).unwrap();
    assert_eq!(items.iter().map(|item| item.1).collect::<Vec<_>>(), [0, 3]);
}

#[test]
fn without_options_a_file_is_named_after_the_program() {
    let config = read("", &[]);
    assert!(config.collects[0].destination.to_string().starts_with("file:app_2"));
    assert_eq!((config.collects[0].content, config.window), (Content::Text, Window::Samples(1)));
    assert_eq!((config.buffer_bytes, config.instrumentation), (DEFAULT_BUFFER, Duration::from_secs(1)));
    assert_eq!(read("--oml-bufsize 2048", &[]).buffer_bytes, MIN_BUFFER);
    assert_eq!(read("--oml-collect h", &[]).collects[0].content, Content::Binary);
}

#[test]
fn the_command_line_goes_before_the_environment_and_that_before_the_file() {
    let path = write("precedence.xml", r#"<omlc domain="dx" id="ix"><collect url="file:x"/></omlc>"#);
    let environment = [("OML_NAME", "ie"), ("OML_CONFIG", path.as_str()), ("OML_COLLECT", "tcp:he")];
    let config = read("--oml-id ia", &environment);
    assert_eq!((config.sender_id.as_str(), config.domain.as_str()), ("ia", "dx"));
    assert_eq!(config.collects[0].destination, Destination::File("x".into()));
    assert_eq!(config.collects[0].content, Content::Binary, "a file of OML's is binary for files too");
    assert_eq!(read("", &environment).sender_id, "ie");
    assert_eq!(read("--oml-exp-id a", &[("OML_DOMAIN", "b")]).domain, "a");
    assert_eq!(read("--oml-interval 0.5 --oml-samples 3", &[]).window, Window::Seconds(0.5));
    assert_eq!(
        read("--oml-file f", &[("OML_SERVER", "h")]).collects[0].destination,
        Destination::File("f".into())
    );
}

#[test]
fn the_recorded_configuration_is_read_and_its_toml_says_the_same() {
    let Some(folder) = recorded() else { return };
    let text = std::fs::read_to_string(folder.join("conf_filters.xml")).unwrap();
    let path = write("filters.xml", &text.replace("@PORT@", "3003").replace("@ENC@", "text"));
    let config = read(&format!("--oml-config {path}"), &[]);
    let streams = config.collects[0].streams.as_ref().unwrap();
    assert_eq!(
        (config.domain.as_str(), streams.len(), config.collects[0].content),
        ("vec_filters", 9, Content::Text)
    );
    let average = &streams[2];
    assert_eq!((average.point.as_str(), average.name.as_deref()), ("m", Some("f_avg")));
    assert_eq!(average.window, Window::Samples(5));
    // liboml2 makes fields of the filters in reverse.
    assert_eq!(average.filters[0].rename.as_deref(), Some("dd"));

    let toml = r#"
        domain = "vec_filters"
        id = "vecnode"
        [[collect]]
        url = "tcp:127.0.0.1"
        encoding = "text"
        stream = [
            { point = "m", name = "f_avg", samples = 5, filter = [
                { field = "i", operation = "avg" },
                { field = "d", operation = "avg", rename = "dd", properties = { q = "0.5", low = 1 } },
            ] },
        ]"#;
    let config = read(&format!("--oml-config {}", write("filters.toml", toml)), &[]);
    let same = &config.collects[0].streams.as_ref().unwrap()[0];
    assert_eq!(same.filters[0], average.filters[1]);
    assert_eq!(same.filters[1].properties.get("low"), Some("1"));
    assert_eq!((same.window, &same.name), (average.window, &average.name));
}

#[test]
fn old_spellings_are_read() {
    let xml = r#"<?xml version="1.0"?><!-- old --><omlc exp_id="e" id="i"><collect url="h:1" encoding="text">
        <mp name="lin" rename="foo" interval="2"><f pname="x" fname="histogram" sname="y">
        <fp name="low" type="double">1.5</fp><property name="high" value="9"/></f></mp></collect></omlc>"#;
    let config = read(&format!("--oml-config {}", write("old.xml", xml)), &[]);
    let stream = &config.collects[0].streams.as_ref().unwrap()[0];
    assert_eq!(
        (config.domain.as_str(), stream.point.as_str(), stream.name.as_deref()),
        ("e", "lin", Some("foo"))
    );
    let filter = &stream.filters[0];
    assert_eq!((filter.operation.as_str(), filter.rename.as_deref()), ("histogram", Some("y")));
    assert_eq!((filter.properties.get("low"), filter.properties.get("high")), (Some("1.5"), Some("9")));
}

#[test]
fn a_filter_may_leave_its_operation_to_the_default() {
    let xml = r#"<omlc domain="d" id="i"><collect url="file:-"><mp name="sine" interval="2">
        <f pname="value"/><f pname="phase" fname="avg" rename="t"/></mp></collect></omlc>"#;
    let toml = r#"collect = [{ url = "file:-", stream = [{ point = "sine", interval = 2, filter = [
        { field = "value" }, { field = "phase", operation = "avg", rename = "t" }] }] }]"#;
    for (name, text, plain, averaged) in [("default.xml", xml, 1, 0), ("default.toml", toml, 0, 1)] {
        let config = read(&format!("--oml-config {}", write(name, text)), &[]);
        let filters = &config.collects[0].streams.as_ref().unwrap()[0].filters;
        assert_eq!((filters[plain].operation.as_str(), filters[averaged].operation.as_str()), ("", "avg"));
    }
}

#[test]
fn requests_that_are_no_run_are_told_apart() {
    assert_eq!(read_with("--oml-noop --oml-id x", &[]).0.unwrap(), Disposition::Disabled);
    assert_eq!(read_with("--oml-help", &[]).0.unwrap(), Disposition::Help);
    assert_eq!(read_with("--oml-list-filters", &[]).0.unwrap(), Disposition::ListFilters);
}

#[test]
fn what_is_wrong_is_said() {
    assert!(refuse("--oml-id").contains("needs a value"));
    assert!(refuse("--oml-sample 3").contains("--oml-help"));
    assert!(refuse("--oml-sample").contains("is not known"), "also at the end");
    assert!(refuse("--oml-samples many").contains("needs a number"));
    assert!(refuse("--oml-interval -1").contains("positive"));
    assert!(refuse("--oml-domain ../x").contains("domain"));
    assert!(refuse("--oml-collect tcp:h:x").contains("port"));
    assert!(refuse("--oml-config /nowhere/x.xml").contains("/nowhere/x.xml"));
    let wrong = |name: &str, text: &str| refuse(&format!("--oml-config {}", write(name, text)));
    assert!(wrong("a.xml", "<omlc><collect/></omlc>").contains("url"));
    assert!(wrong("b.xml", "<omlc><collect url='h'>").contains("not closed"));
    assert!(wrong("c.xml", "<other/>").contains("<omlc>"));
    assert!(
        wrong("d.xml", "<omlc><collect url='h'><stream mp='m'/></collect></omlc>")
            .contains("samples or interval")
    );
    assert!(wrong("e.toml", "domian = 'x'").contains("domian"));
    assert!(wrong("f.xml", &"<omlc>".repeat(10_000)).contains("deep"));
}

#[test]
fn a_wrong_file_is_refused_in_one_harmless_line() {
    let files = [
        (
            "controls.xml",
            "<omlc><collect url='h'><stream mp='m' samples='\u{1b}[2J\u{9b}'/></collect></omlc>".to_owned(),
        ),
        ("name.xml", "<\u{202e}x\u{2028}y/>".to_owned()),
        ("key.toml", "domain = 'd'\n\"a\\u001b[2J\\nb\" = 1\n".to_owned()),
        ("syntax.toml", "domain = 'd'\n[[collect\u{202e}\n".to_owned()),
        ("long.xml", format!("<{}/>", "x".repeat(100_000))),
        ("endless.toml", " ".repeat(5 << 20)),
        (
            "interval.toml",
            "collect = [{ url = 'file:-', stream = [{ point = 'p', interval = nan }] }]".to_owned(),
        ),
        (
            "negative.xml",
            "<omlc><collect url='file:-'><stream mp='m' interval='-1'/></collect></omlc>".to_owned(),
        ),
    ];
    for (name, text) in files {
        let said = refuse(&format!("--oml-config {}", write(name, &text)));
        let acts = |each: char| each.is_control() || "\u{202e}\u{2028}".contains(each);
        assert!(!said.contains(acts), "{name}: {said:?}");
        assert!(said.chars().count() < 700, "{name}: {}", said.len());
    }
    let said = refuse(&format!("--oml-config {}", write("place.toml", "domain = 'd'\nid = 3\n")));
    assert!(said.contains("line 2"), "{said}");
}
