//! Writing files whole or not at all.
//!
//! A file is written to a temporary one in the same folder, forced to the disk, and renamed. Several
//! files that belong together are all written before one is renamed. Two renames are not one, so a
//! journal says first which renames follow: a small file beside the first one, itself renamed into
//! place. Where a run ends between two renames, whoever reads or writes the files next finds the
//! journal and completes them ([`settle`]). So there are all old files or all new ones.
//!
//! A journal may have come from elsewhere together with the files. So it can only name temporary
//! files, and files that belong to the one it lies beside.

use std::fs::{self, File};
use std::io::{self, BufWriter, ErrorKind, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::target::{identity, target};
use super::temporary::{Temporary, folder, is_temporary, live, remove_left_over};
use crate::error::{Error, Result};

/// All files of a dataset folder.
pub(crate) const DATASET_FILES: [&str; 4] = ["edges.tsv", "nodes.tsv", "labels.tsv", "splits.tsv"];

/// Files that are replaced together: complete and on the disk, and under their names after
/// [`commit`](Self::commit). Without it they are removed.
#[must_use]
#[derive(Default)]
pub struct FileSet {
    written: Vec<(PathBuf, Temporary)>,
    removed: Vec<PathBuf>,
}

/// What is to be done in a folder: files to remove, and renames of temporary files to their targets.
#[derive(Serialize, Deserialize)]
struct Journal {
    remove: Vec<String>,
    rename: Vec<(String, String)>,
}

impl FileSet {
    /// A set of one file.
    pub(crate) fn of(
        path: &Path,
        write: impl FnOnce(&mut BufWriter<&File>) -> io::Result<()>,
    ) -> Result<Self> {
        let mut set = Self::default();
        set.add(path, write)?;
        Ok(set)
    }

    /// Writes a file of the set. It is complete and on the disk when this returns, and under its
    /// name after [`commit`](Self::commit).
    pub(crate) fn add(
        &mut self,
        path: &Path,
        write: impl FnOnce(&mut BufWriter<&File>) -> io::Result<()>,
    ) -> Result<()> {
        let target = target(path)?;
        let fail = |error| Error::write(path, error);
        if self.written.is_empty() {
            settle(&target)?;
        }
        remove_left_over(folder(&target), &needed(folder(&target)));
        let temporary = Temporary::beside(&target)?;
        let mut out = BufWriter::with_capacity(1 << 16, &temporary.file);
        write(&mut out).and_then(|()| out.flush()).map_err(fail)?;
        drop(out);
        temporary.file.sync_all().map_err(fail)?;
        self.written.push((target, temporary));
        Ok(())
    }

    /// Lets a file go where the set replaces others.
    pub(crate) fn remove(&mut self, path: PathBuf) {
        if path.is_file() {
            self.removed.push(path);
        }
    }

    /// Renames all files, the first one last: a reader that finds it new finds all others new.
    pub fn commit(self) -> Result<()> {
        commit_all([self])
    }

    /// [`commit`](Self::commit), once there is a journal if one is needed.
    fn rename(mut self, mut journal: Option<(Temporary, PathBuf)>) -> Result<()> {
        let Some((first, _)) = self.written.first() else { return Ok(()) };
        // Other programs do not interfere.
        let _folder = lock(folder(first));
        if let Some((temporary, path)) = &mut journal {
            rename(temporary, path)?;
            sync_folder(folder(path));
            // From here on the journal needs them, even if a rename fails.
            self.written.iter_mut().for_each(|(_, temporary)| temporary.path.disable_cleanup(true));
        }
        self.removed.iter().try_for_each(|path| remove(path))?;
        for (target, temporary) in self.written.iter_mut().rev() {
            rename(temporary, target)?;
        }
        self.written.iter().for_each(|(target, _)| sync_folder(folder(target)));
        if let Some((_, path)) = &journal {
            let _ = fs::remove_file(path);
            sync_folder(folder(path));
        }
        Ok(())
    }

    /// The journal, as a temporary file, and its path. One file needs none; and there is none for
    /// files in several folders, which only links make.
    fn journal(&self) -> Result<Option<(Temporary, PathBuf)>> {
        let Some((first, _)) = self.written.first() else { return Ok(None) };
        let here = |path: &Path| folder(path) == folder(first);
        let all = self.written.iter().map(|(path, _)| path).chain(&self.removed);
        if all.clone().count() == 1 || !all.clone().all(|path| here(path)) {
            return Ok(None);
        }
        let rename = self.written.iter().map(|(to, temporary)| (name(&temporary.path), name(to)));
        let remove = self.removed.iter().map(|path| name(path)).collect();
        let text = serde_json::to_string(&Journal { rename: rename.collect(), remove });
        let path = journal_path(first);
        let temporary = Temporary::beside(&path)?;
        text.map_err(io::Error::from)
            .and_then(|text| (&temporary.file).write_all(text.as_bytes()))
            .and_then(|()| temporary.file.sync_all())
            .map_err(|error| Error::write(first, error))?;
        Ok(Some((temporary, path)))
    }
}

/// Replaces several sets of files: all of them are complete and on the disk, so that only a kill or a
/// power cut between two renames leaves one set new and the next one old.
pub fn commit_all(sets: impl IntoIterator<Item = FileSet>) -> Result<()> {
    let with_journal = |set: FileSet| set.journal().map(|journal| (set, journal));
    let sets: Vec<_> = sets.into_iter().map(with_journal).collect::<Result<_>>()?;
    // A program that is told to end waits until all are renamed.
    let _live = live();
    sets.into_iter().try_for_each(|(set, journal)| set.rename(journal))
}

/// Writes a file whole or not at all.
pub(crate) fn write_whole(
    path: &Path,
    write: impl FnOnce(&mut BufWriter<&File>) -> io::Result<()>,
) -> Result<()> {
    FileSet::of(path, write)?.commit()
}

/// Writes bytes to files: all of them or, if that fails, none.
pub fn write_together(files: impl IntoIterator<Item = (PathBuf, Vec<u8>)>) -> Result<()> {
    let mut set = FileSet::default();
    for (path, bytes) in files {
        set.add(&path, |out| out.write_all(&bytes))?;
    }
    set.commit()
}

/// Fails where writing a whole file would fail because of a missing folder, missing permission, or what is
/// there already. Call it before any work.
pub fn check_writable(path: &Path) -> Result<()> {
    Temporary::beside(&target(path)?).map(drop)
}

/// Reads a set of files by its first one, all old or all new even if it is replaced meanwhile.
pub(crate) fn read_set<T>(first: &Path, read: impl Fn() -> Result<T>) -> Result<T> {
    /// A set that is replaced as often while it is read is not read.
    const ATTEMPTS: usize = 10;
    let file = target(first).unwrap_or_else(|_| first.to_owned());
    let stamp = || fs::metadata(&file).ok().map(|found| (identity(&file), found.modified().ok()));
    for _ in 0..ATTEMPTS {
        settle(&file)?;
        let before = stamp();
        let read = read();
        // The first file is renamed last, while the journal is there.
        if !journal_path(&file).exists() && stamp() == before {
            return read;
        }
    }
    Err(Error::unreadable(first, "it is being replaced all the time; read it later"))
}

/// Completes the replacement of the set whose first file this is, if a run ended in the midst of it.
pub(crate) fn settle(first: &Path) -> Result<()> {
    let path = journal_path(first);
    if !path.exists() {
        return Ok(());
    }
    let _live = live();
    let _folder = lock(folder(first));
    let Some(journal) = read_journal(&path).filter(|journal| journal.belongs_to(first)) else {
        if !path.exists() {
            // Another program has completed it.
            return Ok(());
        }
        let reason = "not the journal of an interrupted run; remove it";
        return Err(Error::file(&path, reason));
    };
    let fail = |error: io::Error| {
        let reason = format!(
            "a run ended while it replaced this file and those beside it, and the rest cannot be \
             renamed ({error}); make the folder writable, or write the files again"
        );
        Error::unreadable(first, reason)
    };
    for name in &journal.remove {
        remove(&folder(first).join(name))?;
    }
    for (from, to) in journal.rename.iter().rev() {
        let (from, to) = (folder(first).join(from), folder(first).join(to));
        match fs::rename(from, to) {
            // Already renamed.
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            renamed => renamed.map_err(fail)?,
        }
    }
    sync_folder(folder(first));
    match fs::remove_file(&path) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(fail(error)),
        _ => Ok(()),
    }
}

impl Journal {
    /// Whether all files are in the folder of the first one and belong to it: the same name but for
    /// extensions, or the other files of a dataset folder.
    fn belongs_to(&self, first: &Path) -> bool {
        let stem = |name: &str| name.split('.').next().unwrap_or(name).to_owned();
        let of_dataset = |name: &str| {
            let plain = name.strip_suffix(".gz").or_else(|| name.strip_suffix(".zst"));
            DATASET_FILES.contains(&plain.unwrap_or(name))
        };
        let first = name(first);
        let belongs = |name: &String| {
            let plain = !name.contains(['/', '\\']);
            plain && (stem(name) == stem(&first) || of_dataset(name) && of_dataset(&first))
        };
        let temporary = |name: &String| is_temporary(name) && !name.contains(['/', '\\']);
        self.remove.iter().all(belongs)
            && self.rename.iter().all(|(from, to)| temporary(from) && belongs(to))
    }
}

/// Keeps other programs from renaming files in a folder, where the file system can.
fn lock(folder: &Path) -> Option<File> {
    let folder = File::open(folder).ok()?;
    folder.lock().ok()?;
    Some(folder)
}

/// Temporary files that journals in a folder refer to.
fn needed(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let journals = entries
        .filter(|entry| entry.file_name().to_string_lossy().ends_with(JOURNAL))
        .filter_map(|entry| read_journal(&entry.path()));
    journals.flat_map(|journal| journal.rename).map(|(from, _)| folder.join(from)).collect()
}

const JOURNAL: &str = ".nearfar-journal";

fn journal_path(first: &Path) -> PathBuf {
    first.with_file_name(format!(".{}{JOURNAL}", name(first)))
}

fn name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

fn read_journal(path: &Path) -> Option<Journal> {
    serde_json::from_slice(&fs::read(path).ok()?).ok()
}

fn rename(temporary: &mut Temporary, to: &Path) -> Result<()> {
    match fs::rename(&temporary.path, to) {
        // A reader has found the journal, and renamed it already.
        Err(error) if error.kind() == ErrorKind::NotFound && to.exists() => {}
        renamed => renamed.map_err(|error| Error::write(to, error))?,
    }
    temporary.path.disable_cleanup(true);
    Ok(())
}

fn remove(path: &Path) -> Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(Error::write(path, error)),
        _ => Ok(()),
    }
}

/// Forces the names in a folder to the disk. Not every file system can; then there is nothing to do.
fn sync_folder(folder: &Path) {
    let _ = File::open(folder).and_then(|folder| folder.sync_all());
}

#[cfg(test)]
mod tests {
    use super::super::read_text;
    use super::*;

    fn files(folder: &Path) -> Vec<String> {
        let mut files: Vec<String> = fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
            .collect();
        files.sort();
        files
    }

    fn write(path: &Path, text: &str) -> Result<()> {
        write_together([(path.to_owned(), text.into())])
    }

    fn pair(folder: &Path, content: &str) -> Result<FileSet> {
        let mut set = FileSet::default();
        for name in ["a.x", "a.y"] {
            set.add(&folder.join(name), |out| out.write_all(content.as_bytes()))?;
        }
        Ok(set)
    }

    fn contents(folder: &Path) -> [String; 2] {
        let first = folder.join("a.x");
        read_set(&first, || Ok(["a.x", "a.y"].map(|name| read_text(&folder.join(name)).unwrap())))
            .unwrap()
    }

    #[test]
    fn a_failed_write_keeps_the_old_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.txt");
        write(&path, "old").unwrap();
        let failed = write_whole(&path, |out| {
            out.write_all(b"new")?;
            Err(io::Error::other("the disk is full"))
        });
        assert!(failed.unwrap_err().to_string().contains("the disk is full"));
        assert_eq!(read_text(&path).unwrap(), "old");
        assert_eq!(files(folder.path()), ["a.txt"]);
    }

    #[test]
    fn unwritable_paths_are_found_before_writing() {
        let folder = tempfile::tempdir().unwrap();
        let check = |name: &str| check_writable(&folder.path().join(name));
        check("a.npy").unwrap();
        for name in ["", "new/"] {
            assert!(check(name).unwrap_err().to_string().contains("add a file name"), "{name}");
        }
        assert!(check("no/a.npy").unwrap_err().to_string().contains("create it"));
        assert!(files(folder.path()).is_empty());
    }

    #[test]
    fn a_set_is_replaced_as_a_whole() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        pair(folder, "old").unwrap().commit().unwrap();
        assert_eq!(contents(folder), ["old", "old"]);
        let mut set = pair(folder, "new").unwrap();
        let failed = set.add(&folder.join("c"), |_| Err(io::Error::other("the disk is full")));
        assert!(failed.is_err());
        drop(set);
        assert_eq!(contents(folder), ["old", "old"]);
        pair(folder, "new").unwrap().commit().unwrap();
        assert_eq!(contents(folder), ["new", "new"]);
        assert_eq!(files(folder), ["a.x", "a.y"]);
    }

    /// A run is killed after each step of a commit: before the journal is there all files are old,
    /// after that all are new, and nothing is left over.
    #[test]
    fn a_commit_that_was_cut_off_is_completed() {
        for steps in 0..=4 {
            for by_writer in [false, true] {
                let folder = tempfile::tempdir().unwrap();
                let folder = folder.path();
                pair(folder, "old").unwrap().commit().unwrap();
                let mut set = pair(folder, "new").unwrap();
                let (mut journal, path) = set.journal().unwrap().unwrap();
                journal.path.disable_cleanup(true);
                if steps > 0 {
                    rename(&mut journal, &path).unwrap();
                }
                for (at, (target, temporary)) in set.written.iter_mut().rev().enumerate() {
                    temporary.path.disable_cleanup(true);
                    if at + 1 < steps {
                        rename(temporary, target).unwrap();
                    }
                }
                if steps == 4 {
                    fs::remove_file(&path).unwrap();
                }
                // The locks end with the process.
                drop((set, journal));
                let expected = if steps == 0 { "old" } else { "new" };
                if by_writer {
                    write(&folder.join("a.x"), expected).unwrap();
                }
                assert_eq!(contents(folder), [expected, expected], "after {steps} steps");
                write(&folder.join("c"), "").unwrap();
                assert_eq!(files(folder), ["a.x", "a.y", "c"], "after {steps} steps");
            }
        }
    }

    /// A folder that was unpacked from somewhere.
    #[test]
    fn a_journal_does_not_reach_beyond_its_files() {
        let outer = tempfile::tempdir().unwrap();
        let folder = outer.path().join("folder");
        fs::create_dir(&folder).unwrap();
        let path = |name: &str| folder.join(name);
        let names = ["a.x", "b.y", ".nearfar-1.tmp", "../kept", "edges.tsv"];
        for name in names {
            fs::write(path(name), name).unwrap();
        }
        let tmp = ".nearfar-1.tmp";
        let kept = outer.path().join("kept").to_string_lossy().into_owned();
        for (removed, from, to) in [
            ("b.y", tmp, "a.x"),
            ("edges.tsv", tmp, "a.x"),
            ("../kept", tmp, "a.x"),
            (&*kept, tmp, "a.x"),
            ("a.z", "b.y", "a.x"),
            ("a.z", "../kept", "a.x"),
            ("a.z", tmp, "b.y"),
            ("a.z", tmp, "../kept"),
            ("a.z", ".nearfar-1/../../kept.tmp", "a.x"),
        ] {
            let rename = vec![(from.to_owned(), to.to_owned())];
            let journal = Journal { remove: vec![removed.to_owned()], rename };
            fs::write(path(".a.x.nearfar-journal"), serde_json::to_vec(&journal).unwrap()).unwrap();
            let error = read_set(&path("a.x"), || Ok(())).unwrap_err().to_string();
            assert!(error.contains("not the journal of an interrupted run"), "{error}");
            for name in names {
                assert_eq!(fs::read_to_string(path(name)).unwrap(), name, "{removed} {from} {to}");
            }
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_link_stays_a_link() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        fs::create_dir(path("elsewhere")).unwrap();
        fs::write(path("elsewhere/file"), "old").unwrap();
        std::os::unix::fs::symlink("elsewhere/file", path("link")).unwrap();
        write(&path("link"), "new").unwrap();
        assert!(path("link").is_symlink());
        assert_eq!(read_text(&path("elsewhere/file")).unwrap(), "new");
        assert_eq!(files(&path("elsewhere")), ["file"]);
    }
}
