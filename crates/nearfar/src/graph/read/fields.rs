//! A line of a table as its fields.

use std::borrow::Cow;

use memchr::memchr;

use super::Separator;

/// The fields of a line, without blanks around them; quoted ones without their quotes.
pub(crate) struct Fields<'a> {
    rest: Option<&'a [u8]>,
    separator: Separator,
}

impl<'a> Fields<'a> {
    pub(crate) fn new(line: &'a [u8], separator: Separator) -> Self {
        let rest = if separator == Separator::Blanks { line.trim_ascii() } else { line };
        Self { rest: Some(rest), separator }
    }

    /// What follows the fields so far; `None` at the end of the line.
    pub(super) fn rest(&self) -> Option<&'a [u8]> {
        self.rest
    }
}

impl<'a> Iterator for Fields<'a> {
    type Item = Result<Cow<'a, [u8]>, String>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let rest = self.rest?;
        let Separator::Byte(separator) = self.separator else {
            let end = rest.iter().position(u8::is_ascii_whitespace);
            self.rest = end.map(|end| rest[end..].trim_ascii_start());
            return Some(Ok(Cow::Borrowed(&rest[..end.unwrap_or(rest.len())])));
        };
        let trimmed = trim_blanks(rest, separator);
        if trimmed.first() == Some(&b'"') {
            return Some(self.quoted(trimmed, separator));
        }
        let end = rest.iter().position(|&b| b == separator);
        self.rest = end.map(|end| &rest[end + 1..]);
        Some(Ok(Cow::Borrowed(rest[..end.unwrap_or(rest.len())].trim_ascii())))
    }
}

/// Whether a line holds nothing, or a comment.
pub(super) fn is_comment(line: &[u8]) -> bool {
    line.trim_ascii_start().first().is_none_or(|first| matches!(first, b'#' | b'%'))
}

/// Whether a byte occurs in a line outside of quotes; inside of them, if they are not closed.
pub(super) fn separates(line: &[u8], separator: u8) -> bool {
    let mut is_quoted = false;
    for &byte in line {
        is_quoted ^= byte == b'"';
        if byte == separator && !is_quoted {
            return true;
        }
    }
    is_quoted && line.contains(&separator)
}

/// Strips leading whitespace other than the separator.
fn trim_blanks(text: &[u8], separator: u8) -> &[u8] {
    let blank = |byte: &&u8| byte.is_ascii_whitespace() && **byte != separator;
    &text[text.iter().take_while(blank).count()..]
}

impl<'a> Fields<'a> {
    /// A field in double quotes, in which a doubled quote stands for one.
    fn quoted(&mut self, rest: &'a [u8], separator: u8) -> Result<Cow<'a, [u8]>, String> {
        let mut field = Vec::new();
        let mut at = 1;
        loop {
            let Some(quote) = memchr(b'"', &rest[at..]) else {
                self.rest = None;
                return Err("an opening quote without a closing one".to_owned());
            };
            field.extend_from_slice(&rest[at..at + quote]);
            at += quote + 1;
            if rest.get(at) != Some(&b'"') {
                break;
            }
            field.push(b'"');
            at += 1;
        }
        let after = trim_blanks(&rest[at..], separator);
        self.rest = after.split_first().map(|(_, tail)| tail);
        match after.first() {
            None => Ok(Cow::Owned(field)),
            Some(&b) if b == separator => Ok(Cow::Owned(field)),
            Some(_) => Err("text follows a closing quote".to_owned()),
        }
    }
}
