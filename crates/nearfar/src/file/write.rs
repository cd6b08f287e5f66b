//! Writing files whole or not at all.

use std::fs::File;
use std::io::{self, BufWriter, ErrorKind, Write};
use std::path::Path;

use tempfile::NamedTempFile;

use crate::error::{Error, Result};

/// Writes a file whole or not at all: `write` fills a temporary file in the same folder, which is
/// then renamed.
pub(crate) fn write_whole(
    path: &Path,
    write: impl FnOnce(&mut BufWriter<&File>) -> io::Result<()>,
) -> Result<()> {
    let file = temporary_beside(path)?;
    let fail = |e: io::Error| Error::write(path, e);
    let mut out = BufWriter::with_capacity(1 << 16, file.as_file());
    write(&mut out).and_then(|()| out.flush()).map_err(fail)?;
    drop(out);
    file.persist(path).map_err(|e| fail(e.error))?;
    Ok(())
}

/// Fails where [`write_whole`] would fail because of a missing folder or missing permission.
pub(crate) fn check_writable(path: &Path) -> Result<()> {
    if path.is_dir() || path.file_name().is_none() {
        let reason = "this is a folder; add a file name".to_owned();
        return Err(Error::unwritable(path, reason));
    }
    temporary_beside(path).map(drop)
}

fn temporary_beside(path: &Path) -> Result<NamedTempFile> {
    let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut builder = tempfile::Builder::new();
    // Temporary files are private to their owner by default; results have the usual permissions.
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    builder.tempfile_in(folder).map_err(|error| match error.kind() {
        ErrorKind::NotFound => {
            let reason =
                format!("folder {} does not exist; create it or choose another", folder.display());
            Error::unwritable(path, reason)
        }
        _ => Error::write(path, error),
    })
}

#[cfg(test)]
mod tests {
    use super::super::read_text;
    use super::*;

    #[test]
    fn a_failed_write_keeps_the_old_file() {
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
    fn unwritable_paths_are_found_before_writing() {
        let folder = tempfile::tempdir().unwrap();
        let check = |name: &str| check_writable(&folder.path().join(name));
        check("a.npy").unwrap();
        assert!(check("").unwrap_err().to_string().contains("add a file name"));
        assert!(check("no/a.npy").unwrap_err().to_string().contains("create it"));
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
