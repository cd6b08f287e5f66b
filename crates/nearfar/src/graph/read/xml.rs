//! XML documents as events with line numbers. Entities are the five of XML and characters by
//! number; declarations of others are not read.

use std::borrow::Cow;
use std::path::Path;

use memchr::memchr_iter;
use quick_xml::events::{BytesRef, BytesStart, Event};
use quick_xml::{Reader, XmlVersion};

use crate::error::{Error, Result};

/// A document that is being read.
pub(super) struct Xml<'a> {
    reader: Reader<&'a [u8]>,
    text: &'a str,
    path: &'a Path,
    /// The line at this position of the text.
    line: u64,
    position: usize,
    depth: usize,
}

/// What a reader of a graph has to know of an event.
pub(super) enum Item<'a> {
    /// The start of an element; empty ones have no end.
    Start { element: BytesStart<'a>, empty: bool },
    /// The end of an element.
    End(String),
    /// Text in an element, in any number of pieces.
    Text(Cow<'a, str>),
}

impl<'a> Xml<'a> {
    pub(super) fn new(path: &'a Path, text: &'a str) -> Self {
        let reader = Reader::from_str(text);
        Self { reader, text, path, line: 1, position: 0, depth: 0 }
    }

    /// The next item; `None` at the end of the document.
    pub(super) fn next(&mut self) -> Result<Option<Item<'a>>> {
        loop {
            let event = self.reader.read_event();
            self.count_lines();
            return Ok(Some(match event.map_err(|error| self.broken(&error))? {
                Event::Start(element) => {
                    self.depth += 1;
                    Item::Start { element, empty: false }
                }
                Event::Empty(element) => Item::Start { element, empty: true },
                Event::End(element) => {
                    self.depth -= 1;
                    Item::End(element.local_name().as_ref().to_owned())
                }
                Event::Text(text) => Item::Text(text.into_inner()),
                Event::CData(text) => Item::Text(text.into_inner()),
                Event::GeneralRef(name) => Item::Text(self.entity(&name)?.into()),
                Event::Eof if self.depth > 0 => {
                    return Err(self.error("the file ends in the middle of the document"));
                }
                Event::Eof => return Ok(None),
                Event::Comment(_) | Event::Decl(_) | Event::PI(_) | Event::DocType(_) => continue,
            }));
        }
    }

    /// An attribute of an element.
    pub(super) fn attribute(&self, element: &BytesStart, name: &str) -> Result<Option<String>> {
        for attribute in element.attributes().with_checks(false) {
            let attribute = attribute.map_err(|error| self.broken(&error))?;
            if attribute.key.local_name().as_ref() == name {
                let value = attribute.normalized_value(XmlVersion::Implicit1_0);
                return Ok(Some(value.map_err(|error| self.broken(&error))?.into_owned()));
            }
        }
        Ok(None)
    }

    /// An attribute that an element must have.
    pub(super) fn required(&self, element: &BytesStart, name: &str) -> Result<String> {
        self.attribute(element, name)?.ok_or_else(|| {
            let element = element.local_name();
            self.error(format!("<{}> without the attribute '{name}'", element.as_ref()))
        })
    }

    /// The line of the last item.
    pub(super) fn line(&self) -> u64 {
        self.line
    }

    /// An error about the last item.
    pub(super) fn error(&self, message: impl Into<String>) -> Error {
        Error::line(self.path, self.line, message.into())
    }

    fn broken(&self, error: &dyn std::fmt::Display) -> Error {
        self.error(format!("invalid XML: {error}"))
    }

    fn entity(&self, name: &BytesRef) -> Result<String> {
        if let Some(character) = name.resolve_char_ref().map_err(|error| self.broken(&error))? {
            return Ok(character.into());
        }
        let known = quick_xml::escape::resolve_predefined_entity(name);
        known.map(str::to_owned).ok_or_else(|| {
            self.error(format!("the entity '&{};', which is not supported", &**name))
        })
    }

    fn count_lines(&mut self) {
        let end = (self.reader.buffer_position() as usize).min(self.text.len());
        let passed = &self.text.as_bytes()[self.position.min(end)..end];
        self.line += memchr_iter(b'\n', passed).count() as u64;
        self.position = end;
    }
}
