//! Files: opened whatever they are packed with, written whole or not at all.

pub(crate) mod lines;
pub(crate) mod npy;
pub(crate) mod safetensors;

use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, ErrorKind, Read, Seek, Write};
use std::path::Path;

use tempfile::NamedTempFile;

use crate::error::{Error, Result};

/// The ending of a file's name in lower case, that of a packed file without `.gz` or `.zst`.
pub(crate) fn ending(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
    let name = name.strip_suffix(".gz").or_else(|| name.strip_suffix(".zst")).unwrap_or(&name);
    name.rsplit_once('.').map_or("", |(_, ending)| ending).to_owned()
}

/// Opens a file, unpacking gzip and zstd, which are recognised by their first bytes.
pub(crate) fn open(path: &Path) -> Result<Box<dyn Read + Send>> {
    let fail = |e: io::Error| Error::read(path, e);
    if path.is_dir() {
        return Err(Error::file(path, "a folder where a file should be"));
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

/// Opens a file that is not read from start to end; a packed one is unpacked to disk first.
pub(crate) fn open_seekable(path: &Path) -> Result<File> {
    let fail = |e: io::Error| read_error(path, e);
    let ending = path.extension().unwrap_or_default();
    if !ending.eq_ignore_ascii_case("gz") && !ending.eq_ignore_ascii_case("zst") {
        return File::open(path).map_err(fail);
    }
    let mut unpacked = tempfile::tempfile().map_err(fail)?;
    io::copy(&mut open(path)?, &mut unpacked).map_err(fail)?;
    unpacked.rewind().map_err(fail)?;
    Ok(unpacked)
}

/// All bytes of a file, unpacked.
pub(crate) fn read_all(path: &Path) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open(path)?.read_to_end(&mut bytes).map_err(|e| read_error(path, e))?;
    Ok(bytes)
}

/// All of a text file, unpacked, without a byte order mark.
pub(crate) fn read_text(path: &Path) -> Result<String> {
    let mut text = String::from_utf8(read_all(path)?)
        .map_err(|_| Error::file(path, "this is not UTF-8 text; save it as UTF-8"))?;
    if text.starts_with('\u{feff}') {
        text.drain(..'\u{feff}'.len_utf8());
    }
    Ok(text)
}

/// What a failed read says: a stream that ends too early was cut off on its way here.
pub(crate) fn read_error(path: &Path, source: io::Error) -> Error {
    if source.kind() == ErrorKind::UnexpectedEof {
        let reason = "the file ends in the middle: it is cut off; fetch or pack it again";
        return Error::unreadable(path, reason);
    }
    Error::read(path, source)
}

/// Writes a file whole or not at all: to a temporary one beside it, which then takes its name.
pub(crate) fn write_whole(
    path: &Path,
    write: impl FnOnce(&mut BufWriter<&File>) -> io::Result<()>,
) -> Result<()> {
    let file = beside(path)?;
    let fail = |e: io::Error| Error::write(path, e);
    let mut out = BufWriter::with_capacity(1 << 16, file.as_file());
    write(&mut out).and_then(|()| out.flush()).map_err(fail)?;
    drop(out);
    file.persist(path).map_err(|e| fail(e.error))?;
    Ok(())
}

/// Fails where [`write_whole`] would fail for want of a folder or of permission.
pub(crate) fn check_writable(path: &Path) -> Result<()> {
    if path.is_dir() || path.file_name().is_none() {
        let reason = "a folder; add the name of a file".to_owned();
        return Err(Error::unwritable(path, reason));
    }
    beside(path).map(drop)
}

fn beside(path: &Path) -> Result<NamedTempFile> {
    let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut builder = tempfile::Builder::new();
    // Temporary files are private to their owner; results have the usual permissions.
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    builder.tempfile_in(folder).map_err(|error| match error.kind() {
        ErrorKind::NotFound => {
            let reason = format!("no folder {}; make it, or choose another", folder.display());
            Error::unwritable(path, reason)
        }
        _ => Error::write(path, error),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_write_leaves_what_was_there() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.txt");
        write_whole(&path, |out| out.write_all(b"old")).unwrap();
        let failed = write_whole(&path, |out| {
            out.write_all(b"new")?;
            Err(io::Error::other("the disk is full"))
        });
        assert!(failed.unwrap_err().to_string().contains("the disk is full"));
        assert_eq!(read_text(&path).unwrap(), "old");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn what_cannot_be_written_is_known_before() {
        let folder = tempfile::tempdir().unwrap();
        let check = |name: &str| check_writable(&folder.path().join(name));
        check("a.npy").unwrap();
        assert!(check("").unwrap_err().to_string().contains("add the name of a file"));
        assert!(check("no/a.npy").unwrap_err().to_string().contains("make it"));
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
