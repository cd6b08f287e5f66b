//! The tokens of the DOT language.

use std::borrow::Cow;

use memchr::memchr_iter;

/// A word or a symbol.
#[derive(PartialEq, Eq)]
pub(super) enum Token<'a> {
    /// A name, a number, a text in quotes or in angle brackets.
    Id { text: Cow<'a, str>, quoted: bool },
    /// `->` or `--`.
    Edge { directed: bool },
    /// Any other character.
    Symbol(char),
}

/// A text as tokens, without blanks and comments.
pub(super) struct Tokens<'a> {
    text: &'a str,
    at: usize,
    /// The line of the last token.
    line: u64,
    /// The line at the position `counted`.
    counted_line: u64,
    counted: usize,
    peeked: Option<(Option<Token<'a>>, u64)>,
}

impl<'a> Tokens<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self { text, at: 0, line: 1, counted_line: 1, counted: 0, peeked: None }
    }

    /// The line of the token that [`next`](Self::next) returned last.
    pub(super) fn line(&self) -> u64 {
        self.line
    }

    pub(super) fn next(&mut self) -> Result<Option<Token<'a>>, String> {
        let (token, line) = match self.peeked.take() {
            Some(peeked) => peeked,
            None => self.read()?,
        };
        self.line = line;
        Ok(token)
    }

    pub(super) fn peek(&mut self) -> Result<Option<&Token<'a>>, String> {
        if self.peeked.is_none() {
            self.peeked = Some(self.read()?);
        }
        Ok(self.peeked.as_ref().and_then(|(token, _)| token.as_ref()))
    }

    fn read(&mut self) -> Result<(Option<Token<'a>>, u64), String> {
        self.skip()?;
        let line = self.count_lines();
        // Errors in the token are in its first line.
        self.line = line;
        let rest = &self.text[self.at..];
        let Some(first) = rest.chars().next() else { return Ok((None, line)) };
        let token = match first {
            '"' => {
                let mut text = self.quoted()?;
                // `"a" + "b"` is one text.
                loop {
                    let before = self.at;
                    self.skip()?;
                    if !self.text[self.at..].starts_with('+') {
                        self.at = before;
                        break;
                    }
                    self.at += 1;
                    self.skip()?;
                    if !self.text[self.at..].starts_with('"') {
                        return Err("'+' without a quoted text after it".to_owned());
                    }
                    let more = self.quoted()?;
                    text.to_mut().push_str(&more);
                }
                Token::Id { text, quoted: true }
            }
            '<' => Token::Id { text: Cow::Borrowed(self.html()?), quoted: true },
            '-' if rest.starts_with("->") || rest.starts_with("--") => {
                self.at += 2;
                Token::Edge { directed: rest.starts_with("->") }
            }
            _ => {
                let negative = usize::from(first == '-');
                let end = rest[negative..].find(|c: char| {
                    !(c.is_alphanumeric() || matches!(c, '_' | '.') || !c.is_ascii())
                });
                let end = end.map_or(rest.len(), |end| end + negative);
                if end == negative {
                    self.at += first.len_utf8();
                    Token::Symbol(first)
                } else {
                    self.at += end;
                    Token::Id { text: Cow::Borrowed(&rest[..end]), quoted: false }
                }
            }
        };
        Ok((Some(token), line))
    }

    /// Skips blanks and comments.
    fn skip(&mut self) -> Result<(), String> {
        loop {
            let rest = &self.text[self.at..];
            let text = rest.trim_start();
            self.at += rest.len() - text.len();
            let starts_line = self.at == 0 || self.text.as_bytes()[self.at - 1] == b'\n';
            let end = if text.starts_with("/*") {
                let end = text.find("*/").map(|end| end + 2);
                end.ok_or_else(|| {
                    self.line = self.count_lines();
                    "a comment without its end, '*/'".to_owned()
                })?
            } else if text.starts_with("//") || (starts_line && text.starts_with('#')) {
                text.find('\n').unwrap_or(text.len())
            } else {
                return Ok(());
            };
            self.at += end;
        }
    }

    /// A text in quotation marks. `\"` stands for one, and a backslash at the end of a line joins it
    /// to the next; other escapes are left as they are.
    fn quoted(&mut self) -> Result<Cow<'a, str>, String> {
        let start = self.at + 1;
        let bytes = self.text.as_bytes();
        let mut at = start;
        let mut escapes = false;
        while bytes.get(at).is_some_and(|&byte| byte != b'"') {
            let escaped =
                bytes[at] == b'\\' && matches!(bytes.get(at + 1), Some(b'"' | b'\\' | b'\n'));
            escapes |= escaped;
            at += if escaped { 2 } else { 1 };
        }
        if at >= bytes.len() {
            return Err("a text without its closing quotation mark".to_owned());
        }
        self.at = at + 1;
        let text = &self.text[start..at];
        Ok(if escapes {
            Cow::Owned(text.replace("\\\"", "\"").replace("\\\n", ""))
        } else {
            Cow::Borrowed(text)
        })
    }

    /// A text in angle brackets, which may contain pairs of them.
    fn html(&mut self) -> Result<&'a str, String> {
        let start = self.at;
        let mut depth = 0_usize;
        for (offset, byte) in self.text.as_bytes()[start..].iter().enumerate() {
            match byte {
                b'<' => depth += 1,
                b'>' => depth -= 1,
                _ => {}
            }
            if depth == 0 {
                self.at = start + offset + 1;
                return Ok(&self.text[start..self.at]);
            }
        }
        Err("a text in '<' without its closing '>'".to_owned())
    }

    /// The line of the current position.
    fn count_lines(&mut self) -> u64 {
        let passed = &self.text.as_bytes()[self.counted..self.at];
        self.counted_line += memchr_iter(b'\n', passed).count() as u64;
        self.counted = self.at;
        self.counted_line
    }
}
