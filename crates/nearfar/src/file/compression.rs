//! Opening files, compressed or not. Compression is recognised by content.

use std::fs::File;
use std::io::{self, BufRead, BufReader, ErrorKind, Read, Seek};
use std::path::Path;

use tempfile::NamedTempFile;
use zip::ZipArchive;
use zip::result::ZipError;

use super::LONGEST;
use super::target::is_device;
use crate::error::{Error, Result};

/// How a file is compressed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Packing {
    Bzip2,
    Gzip,
    Xz,
    Zip,
    Zstd,
}

/// The file extensions of compressed files.
const EXTENSIONS: [&str; 5] = [".bz2", ".gz", ".xz", ".zip", ".zst"];

impl Packing {
    fn of(magic: &[u8]) -> Option<Self> {
        match magic {
            [0x1f, 0x8b, ..] => Some(Self::Gzip),
            [0x28, 0xb5, 0x2f, 0xfd, ..] => Some(Self::Zstd),
            [0xfd, b'7', b'z', b'X', b'Z', 0, ..] => Some(Self::Xz),
            [b'P', b'K', 3, 4, ..] | [b'P', b'K', 5, 6, ..] => Some(Self::Zip),
            // The level, then the first block or the end of the stream.
            [b'B', b'Z', b'h', b'1'..=b'9', 0x31 | 0x17, ..] => Some(Self::Bzip2),
            _ => None,
        }
    }
}

/// The file extension in lower case, without that of a compressed file after it.
pub(crate) fn extension(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
    let name = EXTENSIONS.iter().find_map(|end| name.strip_suffix(end)).unwrap_or(&name);
    name.rsplit_once('.').map_or("", |(_, extension)| extension).to_owned()
}

/// The file extension of what is compressed: that of the file in a zip archive.
pub(crate) fn inner_extension(path: &Path) -> Result<String> {
    let (mut file, packing) = open_raw(path)?;
    if packing == Some(Packing::Zip)
        && let Ok(archive) = ZipArchive::new(&mut file)
        && let [name] = &members(&archive)[..]
    {
        return Ok(extension(Path::new(name)));
    }
    Ok(extension(path))
}

/// Opens a file for reading from start to end, decompressed. A zip archive must contain one file;
/// an archive of NumPy arrays (`.npz`) is a format of its own and read as it is.
pub(crate) fn open(path: &Path) -> Result<Box<dyn Read + Send>> {
    /// The memory that an xz file may ask for: eight times what `xz -9` needs.
    const XZ_KIB: u32 = 512 << 10;
    let fail = |e: io::Error| Error::read(path, e);
    let (mut file, packing) = open_raw(path)?;
    Ok(match packing {
        None => Box::new(file),
        Some(Packing::Bzip2) => Box::new(bzip2::bufread::MultiBzDecoder::new(file)),
        Some(Packing::Gzip) => Box::new(flate2::bufread::MultiGzDecoder::new(file)),
        Some(Packing::Xz) => Box::new(lzma_rust2::XzReader::new_mem_limit(file, true, XZ_KIB)),
        Some(Packing::Zstd) => Box::new(zstd::Decoder::with_buffer(file).map_err(fail)?),
        Some(Packing::Zip) => match unzip(path, &mut file)? {
            Some(unpacked) => Box::new(BufReader::with_capacity(1 << 16, unpacked)),
            None => Box::new(file),
        },
    })
}

/// The first bytes of a file, decompressed.
pub(crate) fn head(path: &Path, bytes: u64) -> Result<Vec<u8>> {
    let mut head = Vec::new();
    let (mut file, packing) = open_raw(path)?;
    let read = if packing == Some(Packing::Zip)
        && let Some((mut archive, name)) = open_archive(path, &mut file)?
    {
        let member = archive.by_name(&name).map_err(|error| zip_error(path, error))?;
        member.take(bytes).read_to_end(&mut head)
    } else {
        open(path)?.take(bytes).read_to_end(&mut head)
    };
    read.map_err(|e| read_error(path, e))?;
    Ok(head)
}

/// Opens a file for random access. A compressed one is decompressed to a temporary file first.
pub(crate) fn open_seekable(path: &Path) -> Result<File> {
    let fail = |e: io::Error| read_error(path, e);
    let (mut file, packing) = open_raw(path)?;
    match packing {
        None => {}
        Some(Packing::Zip) => {
            if let Some(unpacked) = unzip(path, &mut file)? {
                return Ok(unpacked);
            }
        }
        Some(_) => {
            let mut unpacked = tempfile::tempfile().map_err(fail)?;
            io::copy(&mut open(path)?, &mut unpacked).map_err(fail)?;
            unpacked.rewind().map_err(fail)?;
            return Ok(unpacked);
        }
    }
    let mut file = file.into_inner();
    file.rewind().map_err(fail)?;
    Ok(file)
}

/// All bytes of a file, decompressed.
pub(crate) fn read_all(path: &Path) -> Result<Vec<u8>> {
    let limit = if path.is_file() { u64::MAX } else { LONGEST as u64 };
    let mut bytes = Vec::new();
    open(path)?.take(limit).read_to_end(&mut bytes).map_err(|e| read_error(path, e))?;
    if bytes.len() as u64 == limit {
        return Err(Error::file(path, "a pipe of more than 1 GB; give a regular file"));
    }
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

/// Copies what can be read only once, a pipe or standard input, to a temporary file.
pub(crate) fn spool(name: &Path, source: &mut dyn Read) -> Result<NamedTempFile> {
    let fail = |e: io::Error| read_error(name, e);
    let mut copy = NamedTempFile::new().map_err(fail)?;
    io::copy(source, &mut copy).map_err(fail)?;
    Ok(copy)
}

/// The error for a failed read. A stream that ends too early means a truncated file.
pub(crate) fn read_error(path: &Path, source: io::Error) -> Error {
    if source.kind() == ErrorKind::UnexpectedEof {
        let reason = "the file is truncated; download or write it again";
        return Error::unreadable(path, reason);
    }
    Error::read(path, source)
}

/// Fails if there is nothing at a path that can be read to its end: a folder, or a device.
pub(crate) fn check_input(path: &Path) -> Result<()> {
    let kind = path.metadata().map_err(|e| Error::read(path, e))?.file_type();
    if kind.is_dir() {
        return Err(Error::file(path, "this is a folder; expected a file"));
    }
    if is_device(kind) {
        return Err(Error::file(path, "this is a device, which may never end; expected a file"));
    }
    Ok(())
}

/// Opens a file as it is, positioned at its start.
fn open_raw(path: &Path) -> Result<(BufReader<File>, Option<Packing>)> {
    let fail = |e: io::Error| Error::read(path, e);
    check_input(path)?;
    let mut file = BufReader::with_capacity(1 << 16, File::open(path).map_err(fail)?);
    let packing = Packing::of(file.fill_buf().map_err(fail)?);
    Ok((file, packing))
}

/// Unpacks the only file of a zip archive to a temporary file. `None`, with the file at its start,
/// if the archive has NumPy arrays.
fn unzip(path: &Path, file: &mut BufReader<File>) -> Result<Option<File>> {
    let fail = |e: io::Error| read_error(path, e);
    let Some((mut archive, name)) = open_archive(path, file)? else {
        file.rewind().map_err(fail)?;
        return Ok(None);
    };
    let mut member = archive.by_name(&name).map_err(|error| zip_error(path, error))?;
    let mut unpacked = tempfile::tempfile().map_err(fail)?;
    io::copy(&mut member, &mut unpacked).map_err(fail)?;
    unpacked.rewind().map_err(fail)?;
    Ok(Some(unpacked))
}

type Archive<'f> = ZipArchive<&'f mut BufReader<File>>;

/// A zip archive and the name of the only file in it; `None` if it has NumPy arrays.
fn open_archive<'f>(
    path: &Path,
    file: &'f mut BufReader<File>,
) -> Result<Option<(Archive<'f>, String)>> {
    if extension(path) == "npz" {
        return Ok(None);
    }
    let archive = ZipArchive::new(file).map_err(|error| zip_error(path, error))?;
    let files = members(&archive);
    if files.iter().any(|name| extension(Path::new(name)) == "npy") {
        return Ok(None);
    }
    match &files[..] {
        [name] => Ok(Some((archive, name.clone()))),
        _ => Err(Error::file(path, several_files(&files))),
    }
}

fn zip_error(path: &Path, error: ZipError) -> Error {
    match error {
        ZipError::Io(error) => read_error(path, error),
        error => {
            let reason = format!("{error}; unpack the archive and give the file in it");
            Error::unreadable(path, reason)
        }
    }
}

/// The names of the files of an archive, without those that macOS adds.
fn members<R: Read + Seek>(archive: &ZipArchive<R>) -> Vec<String> {
    let names = archive.file_names().flatten().map(Into::into);
    names.filter(|name: &String| !name.ends_with('/') && !name.starts_with("__MACOSX/")).collect()
}

fn several_files(names: &[String]) -> String {
    if names.iter().any(|name| name == "xl/workbook.xml") {
        return "an Excel workbook; save the sheet with the edges as CSV".to_owned();
    }
    let shown: Vec<&str> = names.iter().take(4).map(String::as_str).collect();
    let more = if names.len() > shown.len() { ", …" } else { "" };
    match names.len() {
        0 => "an empty zip archive; expected one file in it".to_owned(),
        count => format!(
            "a zip archive of {count} files ({}{more}); expected one: unpack it and give the file \
             with the graph",
            shown.join(", ")
        ),
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::io::Write;
    use std::os::fd::AsRawFd;

    use super::*;

    #[test]
    fn what_never_ends_is_not_read_to_the_end_of_memory() {
        let error = read_all(Path::new("/dev/zero")).unwrap_err().to_string();
        assert_eq!(error, "/dev/zero: this is a device, which may never end; expected a file");
        let (reader, mut writer) = io::pipe().unwrap();
        let write = std::thread::spawn(move || while writer.write_all(&[b'0'; 4096]).is_ok() {});
        let path = format!("/proc/self/fd/{}", reader.as_raw_fd());
        let error = read_all(Path::new(&path)).unwrap_err().to_string();
        assert!(error.ends_with("a pipe of more than 1 GB; give a regular file"), "{error}");
        drop(reader);
        write.join().unwrap();
    }
}
