//! Where a file may be written: what stands at a path is looked at before any work.

use std::fs::{self, FileType};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use super::temporary::folder;
use crate::error::{Error, Result};

/// The longest name of a file that is written, in bytes: its journal has a longer one.
const LONGEST: usize = 230;

/// The file that writing to a path replaces or creates. A symbolic link is followed, so that it
/// stays one. Fails if something else than a regular file is there.
pub(crate) fn target(path: &Path) -> Result<PathBuf> {
    if path == Path::new("-") {
        let reason = "standard output is no file that can be replaced; give the name of a file";
        return Err(Error::unwritable(path, reason));
    }
    if path.file_name().is_some_and(|name| name.len() > LONGEST) {
        let reason = format!("the name is longer than {LONGEST} bytes; give a shorter one");
        return Err(Error::unwritable(path, reason));
    }
    let kind = match fs::symlink_metadata(path) {
        Ok(found) => found.file_type(),
        Err(error) if error.kind() == ErrorKind::NotFound => {
            // A path that ends with a separator names a folder, even if there is none.
            let folder =
                path.file_name().is_none() || path.as_os_str().to_string_lossy().ends_with('/');
            return if folder { Err(is_folder(path)) } else { Ok(path.to_owned()) };
        }
        Err(error) => return Err(Error::write(path, error)),
    };
    if !kind.is_symlink() {
        return regular(path, kind).map(|()| path.to_owned());
    }
    // What it names may have no path, as the pipe behind /dev/stdout.
    let found = fs::metadata(path).map_err(|_| {
        let reason = "a symbolic link to a file that does not exist; remove the link";
        Error::unwritable(path, reason)
    })?;
    regular(path, found.file_type())?;
    fs::canonicalize(path).map_err(|error| Error::write(path, error))
}

/// Fails unless a path is that of a regular file.
fn regular(path: &Path, kind: FileType) -> Result<()> {
    if kind.is_file() {
        return Ok(());
    }
    if kind.is_dir() {
        return Err(is_folder(path));
    }
    let what = name(kind);
    let reason = format!("this is a {what}; only regular files are replaced: give another name");
    Err(Error::unwritable(path, reason))
}

fn is_folder(path: &Path) -> Error {
    Error::unwritable(path, "this is a folder; add a file name")
}

/// Whether this is a device, such as `/dev/zero` or a disk.
#[cfg(unix)]
pub(super) fn is_device(kind: FileType) -> bool {
    use std::os::unix::fs::FileTypeExt;
    kind.is_char_device() || kind.is_block_device()
}

#[cfg(not(unix))]
pub(super) fn is_device(_: FileType) -> bool {
    false
}

#[cfg(unix)]
fn name(kind: FileType) -> &'static str {
    use std::os::unix::fs::FileTypeExt;
    match kind {
        _ if kind.is_fifo() => "named pipe",
        _ if kind.is_socket() => "socket",
        _ if is_device(kind) => "device",
        _ => "special file",
    }
}

#[cfg(not(unix))]
fn name(_: FileType) -> &'static str {
    "special file"
}

/// Fails if `output` is one of some other files that a run reads or writes, under whatever name.
pub fn check_not_input(output: &Path, others: &[PathBuf]) -> Result<()> {
    let own = (place(output), identity(output));
    let same =
        |other: &&PathBuf| place(other) == own.0 || own.1.is_some() && identity(other) == own.1;
    match others.iter().find(same) {
        None => Ok(()),
        Some(other) => {
            let other = other.display();
            let reason =
                format!("{other} is the same file, and the run needs it; give another name");
            Err(Error::unwritable(output, reason))
        }
    }
}

/// A path by which a file is known, even if there is none yet: its folder has one path.
fn place(path: &Path) -> PathBuf {
    let folder = fs::canonicalize(folder(path));
    folder.map_or_else(|_| path.to_owned(), |it| it.join(path.file_name().unwrap_or_default()))
}

/// What tells files apart, whatever their names; `None` if there is no file.
#[cfg(unix)]
pub(super) fn identity(path: &Path) -> Option<(u64, u64)> {
    use std::os::unix::fs::MetadataExt;
    fs::metadata(path).ok().map(|found| (found.dev(), found.ino()))
}

#[cfg(not(unix))]
pub(super) fn identity(path: &Path) -> Option<PathBuf> {
    fs::canonicalize(path).ok()
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::symlink;
    use std::os::unix::net::UnixListener;

    use super::*;

    #[test]
    fn only_regular_files_are_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        let _socket = UnixListener::bind(path("socket")).unwrap();
        fs::create_dir(path("folder")).unwrap();
        fs::write(path("file"), "").unwrap();
        for (link, to) in [("to-folder", "folder"), ("to-nothing", "no"), ("to-file", "file")] {
            symlink(path(to), path(link)).unwrap();
        }
        symlink(path("to-file"), path("to-link")).unwrap();
        let error = |path: &Path| target(path).unwrap_err().to_string();
        for (name, says) in [
            ("socket", "this is a socket; only regular files"),
            ("folder", "this is a folder; add a file name"),
            ("to-folder", "this is a folder"),
            ("to-nothing", "a symbolic link to a file that does not exist"),
        ] {
            let error = error(&path(name));
            assert!(error.contains(says) && error.contains(name), "{error}");
        }
        assert!(error(Path::new("/dev/null")).contains("this is a device"));
        assert!(error(Path::new("-")).contains("standard output"));
        assert!(error(Path::new("")).contains("add a file name"));
        assert_eq!(target(&path("new")).unwrap(), path("new"));
        let file = path("file").canonicalize().unwrap();
        for name in ["to-file", "to-link"] {
            assert_eq!(target(&path(name)).unwrap(), file);
        }
    }

    #[test]
    fn an_input_is_known_by_any_name() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        fs::write(path("graph"), "").unwrap();
        fs::write(path("other"), "").unwrap();
        symlink(path("graph"), path("soft")).unwrap();
        fs::hard_link(path("graph"), path("hard")).unwrap();
        let inputs = [path("missing"), path("graph")];
        let check = |name: &str| check_not_input(&path(name), &inputs);
        for name in ["graph", "soft", "hard", "../graph"] {
            let name =
                name.replace("..", &format!("../{}", folder.path().file_name().unwrap().display()));
            let error = check(&name).unwrap_err().to_string();
            assert!(error.contains("is the same file"), "{error}");
        }
        assert!(check("missing").is_err(), "by its name");
        for name in ["other", "new"] {
            check(name).unwrap();
        }
    }
}
