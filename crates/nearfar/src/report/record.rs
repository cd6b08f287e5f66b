//! What a report says about the run whose vectors it shows.

use std::io::Read;
use std::path::Path;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::read::ZlibDecoder;
use serde_json::{Map, Value};

use crate::error::{Error, Result};
use crate::file::read_text;

/// The record of a report: the number of `nodes` and dimensions, the `version` that wrote the page, and
/// under `settings` the provenance of its vectors, empty if that was not known.
pub fn record(path: &Path) -> Result<Map<String, Value>> {
    let page = read_text(path)?;
    header(&page)
        .ok_or_else(|| Error::file(path, "not a report; expected a page of nearfar report"))
}

/// The entries of the header of the data, without those that describe the map.
fn header(page: &str) -> Option<Map<String, Value>> {
    let (_, data) = page.split_once(r#"id="data">"#)?;
    let (data, _) = data.split_once("</script>")?;
    let data = STANDARD.decode(data).ok()?;
    let mut decoder = ZlibDecoder::new(&data[..]);
    let mut length = [0; 4];
    decoder.read_exact(&mut length).ok()?;
    let mut header = Vec::new();
    decoder.take(u32::from_le_bytes(length).into()).read_to_end(&mut header).ok()?;
    let mut entries: Map<String, Value> = serde_json::from_slice(&header).ok()?;
    entries.retain(|name, _| ["version", "nodes", "dim", "settings"].contains(&name.as_str()));
    Some(entries)
}
