//! Media as a load: frames of an encoder that follows the congestion control, or recorded ones.

mod encoder;
mod source;

use trialwise_units::element::{Arguments, Declared, ElementError, Form, Key, Takes};
use trialwise_units::{Duration, Rate, Seed};

pub use encoder::{Frames, Model};
pub(crate) use source::Source;

/// No frame is larger: that of a camera of 8K without any compression.
const LARGEST_FRAME: u32 = 128 << 20;
/// No file has more frames: nine hours at 30 frames/s.
const MOST_FRAMES: usize = 1 << 20;
const MOST_FPS: f64 = 1000.0;
const USUAL_FPS: f64 = 30.0;
const MODELS: [&str; 2] = ["rfc8593", "constant"];

/// A source of media.
#[derive(Clone, Debug, PartialEq)]
pub struct Media {
    /// Their sizes.
    pub frames: Frames,
    /// Frames in a second.
    pub fps: f64,
    /// A frame is abandoned so long after its capture; none for never.
    pub deadline: Option<Duration>,
    /// Of the noise.
    pub seed: Seed,
}

impl Declared for Media {
    const FORMS: &'static [Form] = &[Form {
        name: "media",
        words: "Frames of a video encoder that follows the congestion control (RFC 8593), or recorded ones.",
        head: None,
        keys: &[
            Key {
                name: "rate",
                takes: Takes::Other("two rates, such as 150kbit/s..1.5Mbit/s"),
                words: "Range of the encoder's target, payload; required without file.",
            },
            Key {
                name: "file",
                takes: Takes::File,
                words: "Frame sizes in bytes, one a line, instead of an encoder; from the first again after the last.",
            },
            Key { name: "fps", takes: Takes::Number, words: "Frames in a second, at most 1000; default 30." },
            Key {
                name: "model",
                takes: Takes::Word(&MODELS),
                words: "Reaction, bursts and noise of RFC 8593, section 5 (default), or equal frames at equal distances.",
            },
            Key {
                name: "gop",
                takes: Takes::Count,
                words: "A key frame each so many frames; default: the first only.",
            },
            Key {
                name: "key_ratio",
                takes: Takes::Number,
                words: "Size of these, in other frames; default 4.",
            },
            Key {
                name: "deadline",
                takes: Takes::Span,
                words: "After this time from its capture, nothing of a frame is sent any more; default: all is sent until it arrives.",
            },
            Key {
                name: "seed",
                takes: Takes::Other("a whole number"),
                words: "Of the noise; default: that of the trial.",
            },
        ],
        example: "media:rate=150kbit/s..1.5Mbit/s,fps=30",
    }];

    fn read(written: &Arguments<'_>) -> Result<Self, ElementError> {
        let fps = written.number("fps")?.unwrap_or(USUAL_FPS);
        if fps > MOST_FPS {
            return Err(
                written.bad("fps", format!("{fps} frames in a second are too many; write 1000 or less"))
            );
        }
        let seed = written.with("seed", |text| {
            text.parse().map_err(|_| format!("`{text}` is not a whole number; write one like 7"))
        })?;
        Ok(Self {
            frames: frames(written, fps)?,
            fps,
            deadline: written.span("deadline")?,
            seed: Seed::new(seed.unwrap_or(1)),
        })
    }
}

fn frames(written: &Arguments<'_>, fps: f64) -> Result<Frames, ElementError> {
    let rates = written.with("rate", range)?;
    let file = written.with("file", |path| match path {
        "" => Err("it names no file; write one like file=frames.txt"),
        _ => Ok(()),
    })?;
    let model = written.word("model", &[Model::Rfc8593, Model::Constant])?;
    let (gop, key_ratio) = (written.count("gop")?, written.number("key_ratio")?);
    if file.is_some() {
        if rates.is_some() || model.is_some() || gop.is_some() || key_ratio.is_some() {
            return Err(
                written.bad("file", "recorded frames take no rate, model, gop or key_ratio; leave them out")
            );
        }
        return written.file("file", sizes).map(|sizes| Frames::Recorded(sizes.into()));
    }
    let (slowest, fastest) = written.needed(rates, "a rate or a file")?;
    let key_ratio = key_ratio.unwrap_or(4.0);
    if fastest.bits_per_second() as f64 / 8.0 / fps * key_ratio.max(4.0) > f64::from(LARGEST_FRAME) {
        let problem =
            format!("frames of {fastest} at {fps} frames/s are too large; take a lower rate or more frames");
        return Err(written.bad("rate", problem));
    }
    Ok(Frames::Encoded { slowest, fastest, model: model.unwrap_or(Model::Rfc8593), gop, key_ratio })
}

fn range(text: &str) -> Result<(Rate, Rate), String> {
    let (slowest, fastest) =
        text.split_once("..").ok_or("it must be a range; write one like 150kbit/s..1.5Mbit/s")?;
    let rate = |text: &str| text.trim().parse::<Rate>().map_err(|error| error.to_string());
    let (slowest, fastest) = (rate(slowest)?, rate(fastest)?);
    if slowest == Rate::ZERO {
        return Err("an encoder at rate 0 gives nothing; write a range like 150kbit/s..1.5Mbit/s".to_owned());
    }
    if slowest > fastest {
        return Err(format!("{slowest} is more than {fastest}; write the lower rate first"));
    }
    Ok((slowest, fastest))
}

/// Sizes of frames, one a line.
fn sizes(text: &str) -> Result<Vec<u32>, String> {
    let mut sizes = Vec::new();
    for (line, text) in text.lines().enumerate().map(|(line, text)| (line + 1, text.trim())) {
        if sizes.len() == MOST_FRAMES {
            return Err(format!(
                "line {line}: there are more than {MOST_FRAMES} frames; it starts again after the last one, so take fewer"
            ));
        }
        let size = text.parse().ok().filter(|size| (1..=LARGEST_FRAME).contains(size));
        sizes.push(size.ok_or_else(|| {
            let shown: String = text.chars().take(24).flat_map(char::escape_debug).collect();
            format!("line {line}: `{shown}` is not the size of a frame; write bytes from 1 to {LARGEST_FRAME}, one number a line")
        })?);
    }
    if sizes.is_empty() {
        Err("it is empty; write the size of a frame in each line, in bytes".to_owned())
    } else {
        Ok(sizes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::Load;

    fn parse(text: &str) -> Result<Media, String> {
        let files = |path: &str| match path {
            "good.txt" => Ok("4170\n13500\n".to_owned()),
            "empty.txt" => Ok(String::new()),
            "zero.txt" => Ok("1\n0\n".to_owned()),
            "gap.txt" => Ok("1\n\n3\n".to_owned()),
            "huge.txt" => Ok("1\n4294967296\n".to_owned()),
            "binary.bin" => Ok("\u{0}\u{1b}[2J\u{7f}ELF".to_owned()),
            "long.txt" => Ok("1\n".repeat(10_000_000)),
            _ => Err("no such file".to_owned()),
        };
        match Load::read(text, &files) {
            Ok(Load::Media(media)) => Ok(media),
            Ok(other) => panic!("{other:?}"),
            Err(error) => Err(error.to_string()),
        }
    }

    #[test]
    fn media_are_read_as_written() {
        let media =
            parse("media:rate=150kbit/s..1.5Mbit/s,fps=25,model=constant,gop=50,deadline=150ms,seed=0")
                .unwrap();
        let frames = Frames::Encoded {
            slowest: Rate::from_bits_per_second(150_000),
            fastest: Rate::from_bits_per_second(1_500_000),
            model: Model::Constant,
            gop: Some(50),
            key_ratio: 4.0,
        };
        let deadline = Some(Duration::from_milliseconds(150));
        assert_eq!(media, Media { frames, fps: 25.0, deadline, seed: Seed::new(0) });
        let recorded = Media {
            frames: Frames::Recorded([4170, 13_500].into()),
            fps: 30.0,
            deadline: None,
            seed: Seed::new(1),
        };
        assert_eq!(parse("media:file=good.txt"), Ok(recorded));
    }

    #[test]
    fn what_is_wrong_is_said() {
        for (text, said) in [
            ("media:", "load media needs a rate or a file; write one like media:rate="),
            ("media", "load media needs a rate or a file"),
            ("media:fps=30", "needs a rate or a file"),
            ("media:rate=1Mbit/s", "rate: it must be a range"),
            ("media:rate=0bit/s..1Mbit/s", "rate: an encoder at rate 0 gives nothing"),
            ("media:rate=0bit/s..0bit/s", "rate: an encoder at rate 0 gives nothing"),
            (
                "media:rate=2Mbit/s..1Mbit/s",
                "2000000 bit/s is more than 1000000 bit/s; write the lower rate first",
            ),
            ("media:rate=1..2", "rate:"),
            ("media:rate=1Tbit/s..9Tbit/s", "are too large"),
            ("media:rate=1Mbit/s..2Mbit/s,fps=0", "fps: `0` is not a number above 0"),
            ("media:rate=1Mbit/s..2Mbit/s,fps=nan", "fps: `nan` is not a number above 0"),
            ("media:rate=1Mbit/s..2Mbit/s,fps=1001", "fps: 1001 frames in a second are too many"),
            ("media:rate=1Mbit/s..2Mbit/s,fps=0.00001", "are too large"),
            ("media:rate=1Mbit/s..2Mbit/s,model=h264", "unknown model `h264`"),
            ("media:rate=1Mbit/s..2Mbit/s,gop=0", "gop: 0 would let nothing pass"),
            ("media:rate=1Mbit/s..2Mbit/s,deadline=0ms", "deadline: it must be above 0"),
            ("media:rate=1Mbit/s..2Mbit/s,seed=-1", "seed: `-1` is not a whole number"),
            ("media:rate=1Mbit/s..2Mbit/s,file=good.txt", "file: recorded frames take no rate"),
            ("media:file=", "load media: file: it names no file"),
            ("media:file=none.txt", "none.txt: no such file"),
            ("media:file=empty.txt", "empty.txt: it is empty"),
            (
                "media:file=zero.txt",
                "zero.txt: line 2: `0` is not the size of a frame; write bytes from 1 to 134217728",
            ),
            ("media:file=gap.txt", "gap.txt: line 2: `` is not the size"),
            ("media:file=huge.txt", "line 2: `4294967296` is not the size"),
            ("media:file=binary.bin", "line 1: `\\0\\u{1b}[2J\\u{7f}ELF` is not the size"),
            ("media:file=long.txt", "line 1048577: there are more than 1048576 frames"),
        ] {
            let error = parse(text).unwrap_err();
            assert!(error.contains(said), "{text}: {error}");
        }
    }
}
