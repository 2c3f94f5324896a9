use super::*;
use crate::{Bytes, Duration, Rate};

#[derive(Debug, PartialEq)]
struct Plain {
    rate: Rate,
    extra: Option<Bytes>,
}

#[derive(Debug, PartialEq)]
struct Recorded {
    text: String,
    wait: Duration,
    tries: u64,
}

elements! {
    #[derive(Debug, PartialEq)]
    enum Sample of "sample", sample! {
        Plain(Plain),
        Recorded(Recorded),
    }
}

impl Declared for Plain {
    const FORMS: &'static [Form] = &[Form {
        name: "",
        words: "A rate.",
        head: Some(Key { name: "rate", takes: Takes::Rate, words: "The rate." }),
        keys: &[Key { name: "extra", takes: Takes::Size, words: "Beside it." }],
        example: "12Mbit/s",
    }];

    fn read(written: &Arguments<'_>) -> Result<Self, ElementError> {
        Ok(Self { rate: written.needed(written.rate(HEAD)?, "a rate")?, extra: written.size("extra")? })
    }
}

impl Declared for Recorded {
    const FORMS: &'static [Form] = &[
        Form {
            name: "recorded",
            words: "From a file.",
            head: Some(Key { name: "FILE", takes: Takes::File, words: "The file." }),
            keys: &[
                Key { name: "wait", takes: Takes::Word(&["short", "long"]), words: "Short unless said." },
                Key { name: "tries", takes: Takes::Count, words: "One unless said." },
            ],
            example: "recorded:FILE",
        },
        Form {
            name: "whole",
            words: "From a file of any name.",
            head: Some(Key { name: "FILE", takes: Takes::File, words: "The file." }),
            keys: &[],
            example: "whole:FILE",
        },
    ];

    fn read(written: &Arguments<'_>) -> Result<Self, ElementError> {
        let waits = [Duration::from_milliseconds(1), Duration::from_milliseconds(100)];
        let (wait, tries) = match written.name() {
            "whole" => (None, None),
            _ => (written.word("wait", &waits)?, written.count("tries")?),
        };
        Ok(Self {
            text: written.file(HEAD, |text| Ok::<_, ElementError>(text.to_owned()))?,
            wait: wait.unwrap_or(waits[0]),
            tries: tries.unwrap_or(1),
        })
    }
}

/// Files say their own path.
fn read(text: &str) -> Result<Sample, String> {
    let found = Sample::read(text, &|path| Ok(path.to_owned()));
    found.map_err(|error| error.to_string())
}

fn recorded(text: &str, milliseconds: u64, tries: u64) -> Result<Sample, String> {
    let wait = Duration::from_milliseconds(milliseconds);
    Ok(Sample::Recorded(Recorded { text: text.to_owned(), wait, tries }))
}

#[test]
fn texts_are_read_in_every_form() {
    let rate = Rate::from_megabits_per_second(12);
    let plain = |extra| Ok(Sample::Plain(Plain { rate, extra }));
    assert_eq!(read(" 12Mbit/s "), plain(None));
    assert_eq!(read("12Mbit/s , extra = 3kB"), plain(Some(Bytes::new(3000))));
    assert_eq!(read("recorded:a/b"), recorded("a/b", 1, 1));
    assert_eq!(read("recorded: a=b ,tries=7, wait=long"), recorded("a=b", 100, 7));
    assert_eq!(read("whole:a,b=c"), recorded("a,b=c", 1, 1));
    let name = |element: &Sample| sample!(element, inner => format!("{inner:?}"));
    assert!(name(&read("12Mbit/s").unwrap()).starts_with("Plain"));
}

#[test]
fn what_is_wrong_is_said_with_what_would_do() {
    for (text, message) in [
        ("recoded:x", "unknown sample `recoded`, did you mean `recorded`?; known: 12Mbit/s, recorded, whole"),
        ("", "sample needs a rate; write one like 12Mbit/s"),
        ("0bit/s", "sample: 0bit/s: at rate 0 nothing would ever pass; write one like 12Mbit/s"),
        ("12Mbit/s,3kB", "sample: `3kB` is not key=value; keys: extra"),
        ("12Mbit/s,extra=1B,extra=2B", "sample: `extra` is given twice; keep one"),
        (
            "recorded:x,trie=1",
            "unknown key of sample recorded `trie`, did you mean `tries`?; known: wait, tries",
        ),
        ("recorded:x,tries=0", "sample recorded: tries: 0 would let nothing pass; write 1 or more"),
        ("recorded:x,wait=lon", "unknown wait `lon`, did you mean `long`?; known: short, long"),
    ] {
        assert_eq!(read(text), Err(message.to_owned()), "{text}");
    }
    let unread = "whole:x".parse::<Sample>().unwrap_err().to_string();
    assert_eq!(unread, "sample whole: x: files are not read here; hand in a reader of files");
}
