//! Temporary files that become results.
//!
//! A temporary file lies in the folder of the file that it becomes, is called `.nearfar-XXXXXX.tmp`,
//! and is locked for as long as its process lives. One that is not locked was left by a run that was
//! killed, and is removed by the next one that writes to the folder.

use std::fs::{self, File, TryLockError};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use tempfile::{NamedTempFile, TempPath};

use crate::error::{Error, Result};

const PREFIX: &str = ".nearfar-";
const SUFFIX: &str = ".tmp";

/// The temporary files of this process. Held while files are renamed: a process that ends by
/// [`remove_temporaries`] never ends between two renames.
static LIVE: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// A temporary file, removed on drop unless it is renamed.
pub(super) struct Temporary {
    /// Locked while it is open.
    pub(super) file: File,
    pub(super) path: TempPath,
}

impl Temporary {
    /// A new file in the folder of a path.
    pub(super) fn beside(path: &Path) -> Result<Self> {
        let folder = folder(path);
        loop {
            let temporary = create(folder).map_err(|error| match error.kind() {
                ErrorKind::NotFound => {
                    let folder = folder.display();
                    let reason =
                        format!("folder {folder} does not exist; create it or choose another");
                    Error::unwritable(path, reason)
                }
                _ => Error::write(path, error),
            })?;
            let (file, path) = temporary.into_parts();
            // Before it is locked, another process may take it as left over. Where locks are not
            // supported, nothing is taken as left over.
            let taken = matches!(file.try_lock(), Err(TryLockError::WouldBlock));
            if !taken && path.exists() {
                let mut live = live();
                live.retain(|path| path.exists());
                live.push(path.to_path_buf());
                return Ok(Self { file, path });
            }
        }
    }
}

fn create(folder: &Path) -> std::io::Result<NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(PREFIX).suffix(SUFFIX);
    // Temporary files are private to their owner by default; results have the usual permissions.
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    builder.tempfile_in(folder)
}

/// Whether a file is called as temporary ones are.
pub(super) fn is_temporary(name: &str) -> bool {
    name.starts_with(PREFIX) && name.ends_with(SUFFIX)
}

/// The folder of a file.
pub(super) fn folder(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// The temporary files of this process, locked.
pub(super) fn live() -> MutexGuard<'static, Vec<PathBuf>> {
    LIVE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Removes temporary files of dead processes from a folder. `needed` are those that a replacement
/// under way refers to. Failures do not matter: there is no promise when they are removed.
pub(super) fn remove_left_over(folder: &Path, needed: &[PathBuf]) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if !is_temporary(&entry.file_name().to_string_lossy()) || needed.contains(&path) {
            continue;
        }
        let regular = entry.file_type().is_ok_and(|kind| kind.is_file());
        let Some(file) = regular.then(|| File::open(&path).ok()).flatten() else { continue };
        if file.try_lock().is_ok() {
            let _ = fs::remove_file(&path);
        }
    }
}

/// Removes all temporary files of this process, and keeps others from being made: for a program that
/// is about to end at once. Files that are being renamed are waited for.
pub fn remove_temporaries() {
    let live = live();
    for path in &*live {
        let _ = fs::remove_file(path);
    }
    std::mem::forget(live);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_a_dead_process_left_is_removed() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        for name in [".nearfar-dead.tmp", ".nearfar-needed.tmp", "other.tmp", ".nearfar-x.npy"] {
            fs::write(path(name), "").unwrap();
        }
        let own = Temporary::beside(&path("x.npy")).unwrap();
        let own_name = own.path.file_name().unwrap().to_owned();
        remove_left_over(folder.path(), &[path(".nearfar-needed.tmp")]);
        let mut left: Vec<_> =
            fs::read_dir(folder.path()).unwrap().map(|it| it.unwrap().file_name()).collect();
        left.sort();
        let mut expected: Vec<_> = [".nearfar-needed.tmp", ".nearfar-x.npy", "other.tmp"]
            .map(std::ffi::OsString::from)
            .into();
        expected.push(own_name);
        expected.sort();
        assert_eq!(left, expected);
    }
}
