//! Opening files, compressed or not.

use std::fs::File;
use std::io::{self, BufRead, BufReader, ErrorKind, Read, Seek};
use std::path::Path;

use crate::error::{Error, Result};

/// The file extension in lower case, without a `.gz` or `.zst` after it.
pub(crate) fn extension(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
    let name = name.strip_suffix(".gz").or_else(|| name.strip_suffix(".zst")).unwrap_or(&name);
    name.rsplit_once('.').map_or("", |(_, extension)| extension).to_owned()
}

/// Opens a file for reading from start to end. Decompresses gzip and zstd, which are recognised by
/// their magic bytes.
pub(crate) fn open(path: &Path) -> Result<Box<dyn Read + Send>> {
    let fail = |e: io::Error| Error::read(path, e);
    if path.is_dir() {
        return Err(Error::file(path, "this is a folder; expected a file"));
    }
    let mut file = BufReader::with_capacity(1 << 16, File::open(path).map_err(fail)?);
    let magic = file.fill_buf().map_err(fail)?;
    Ok(if magic.starts_with(&[0x1f, 0x8b]) {
        Box::new(flate2::bufread::MultiGzDecoder::new(file))
    } else if magic.starts_with(&[0x28, 0xb5, 0x2f, 0xfd]) {
        Box::new(zstd::Decoder::with_buffer(file).map_err(fail)?)
    } else {
        Box::new(file)
    })
}

/// Opens a file for random access. A compressed one is decompressed to a temporary file first.
pub(crate) fn open_seekable(path: &Path) -> Result<File> {
    let fail = |e: io::Error| read_error(path, e);
    let extension = path.extension().unwrap_or_default();
    if !extension.eq_ignore_ascii_case("gz") && !extension.eq_ignore_ascii_case("zst") {
        return File::open(path).map_err(fail);
    }
    let mut unpacked = tempfile::tempfile().map_err(fail)?;
    io::copy(&mut open(path)?, &mut unpacked).map_err(fail)?;
    unpacked.rewind().map_err(fail)?;
    Ok(unpacked)
}

/// All bytes of a file, decompressed.
pub(crate) fn read_all(path: &Path) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open(path)?.read_to_end(&mut bytes).map_err(|e| read_error(path, e))?;
    Ok(bytes)
}

/// All of a text file, decompressed, without a byte order mark.
pub(crate) fn read_text(path: &Path) -> Result<String> {
    let mut text = String::from_utf8(read_all(path)?)
        .map_err(|_| Error::file(path, "this is not UTF-8 text; save it as UTF-8"))?;
    if text.starts_with('\u{feff}') {
        text.drain(..'\u{feff}'.len_utf8());
    }
    Ok(text)
}

/// The error for a failed read. A stream that ends too early means a truncated file.
pub(crate) fn read_error(path: &Path, source: io::Error) -> Error {
    if source.kind() == ErrorKind::UnexpectedEof {
        let reason = "the file is truncated; download or write it again";
        return Error::unreadable(path, reason);
    }
    Error::read(path, source)
}
