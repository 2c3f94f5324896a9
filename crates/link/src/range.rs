//! Two values as written: the least and the most.

use std::str::FromStr;

/// Reads `20ms..60ms`.
///
/// # Errors
/// What is wrong, and what to write.
pub(crate) fn range<T: FromStr<Err = E> + PartialOrd, E: ToString>(text: &str) -> Result<(T, T), String> {
    let two = || format!("`{text}` is not two; write the least and the most with .. between them");
    let (least, most) = text.split_once("..").ok_or_else(two)?;
    let read = |text: &str| text.trim().parse::<T>().map_err(|error| error.to_string());
    match (read(least)?, read(most)?) {
        (least, most) if least > most => Err("the first is above the second; exchange them".to_owned()),
        both => Ok(both),
    }
}
