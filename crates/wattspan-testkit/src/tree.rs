//! Folders that look like parts of sysfs, powercap or procfs.

use std::fs;
use std::path::{Path, PathBuf};
use std::process;
use std::sync::atomic::{AtomicU64, Ordering};

/// Numbers that no two trees and no two writes of this process share.
static NEXT: AtomicU64 = AtomicU64::new(0);

/// A folder of its own below the system's temporary folder, removed when it is dropped.
///
/// Every path is relative to its root, which a collector under test takes as the machine's.
///
/// ```
/// use wattspan_testkit::FakeTree;
///
/// let tree = FakeTree::new().file("sys/class/powercap/intel-rapl:0/name", "package-0\n");
/// let name = tree.root().join("sys/class/powercap/intel-rapl:0/name");
/// assert_eq!(std::fs::read_to_string(&name).unwrap(), "package-0\n");
/// tree.replace("sys/class/powercap/intel-rapl:0/name", "package-1\n");
/// assert_eq!(std::fs::read_to_string(&name).unwrap(), "package-1\n");
/// drop(tree);
/// assert!(!name.exists());
/// ```
#[derive(Debug)]
pub struct FakeTree {
    root: PathBuf,
}

impl FakeTree {
    /// An empty tree.
    ///
    /// # Panics
    /// When the system gives no temporary folder.
    pub fn new() -> Self {
        loop {
            let number = NEXT.fetch_add(1, Ordering::Relaxed);
            let root = std::env::temp_dir().join(format!("wattspan-tree-{}-{number}", process::id()));
            match fs::create_dir(&root) {
                Ok(()) => return Self { root },
                // Left by an earlier process of the same number.
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
                Err(error) => panic!("cannot create {}: {error}", root.display()),
            }
        }
    }

    /// Adds a file, with the folders that it lies in.
    ///
    /// # Panics
    /// When it cannot be written, or its path leads out of the tree.
    #[must_use]
    #[track_caller]
    pub fn file(self, path: impl AsRef<Path>, content: impl AsRef<[u8]>) -> Self {
        self.replace(path, content);
        self
    }

    /// Adds an empty folder.
    ///
    /// # Panics
    /// When it cannot be made, or its path leads out of the tree.
    #[must_use]
    #[track_caller]
    pub fn folder(self, path: impl AsRef<Path>) -> Self {
        let path = self.inside(path.as_ref());
        fs::create_dir_all(&path).unwrap_or_else(|error| panic!("cannot create {}: {error}", path.display()));
        self
    }

    /// Adds a symbolic link, as sysfs is full of them. A target that begins with a slash is taken as it stands, another
    /// one from the link's own folder.
    ///
    /// # Panics
    /// When it cannot be made, or its path leads out of the tree.
    #[cfg(unix)]
    #[must_use]
    #[track_caller]
    pub fn link(self, path: impl AsRef<Path>, target: impl AsRef<Path>) -> Self {
        let path = self.inside(path.as_ref());
        self.parent(&path);
        std::os::unix::fs::symlink(target, &path)
            .unwrap_or_else(|error| panic!("cannot link {}: {error}", path.display()));
        self
    }

    /// Writes a file anew, as a sensor that has moved on. A reader sees the old content or the new, never a part.
    ///
    /// # Panics
    /// When it cannot be written, or its path leads out of the tree.
    #[track_caller]
    pub fn replace(&self, path: impl AsRef<Path>, content: impl AsRef<[u8]>) {
        let path = self.inside(path.as_ref());
        self.parent(&path);
        // Not in the file's folder, whose listing a collector may take at any moment.
        let fresh = self.root.join(format!(".fresh-{}", NEXT.fetch_add(1, Ordering::Relaxed)));
        fs::write(&fresh, content)
            .and_then(|()| fs::rename(&fresh, &path))
            .unwrap_or_else(|error| panic!("cannot write {}: {error}", path.display()));
    }

    /// Takes a file or a folder away, as a device that is gone.
    ///
    /// # Panics
    /// When it is not there, or its path leads out of the tree.
    #[track_caller]
    pub fn remove(&self, path: impl AsRef<Path>) {
        let path = self.inside(path.as_ref());
        let is_folder = path.symlink_metadata().is_ok_and(|found| found.is_dir());
        let removed = if is_folder { fs::remove_dir_all(&path) } else { fs::remove_file(&path) };
        removed.unwrap_or_else(|error| panic!("cannot remove {}: {error}", path.display()));
    }

    /// The folder that stands for `/`.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// A path inside the tree, as the file system has it.
    ///
    /// # Panics
    /// When it leads out of the tree.
    #[track_caller]
    pub fn path(&self, path: impl AsRef<Path>) -> PathBuf {
        self.inside(path.as_ref())
    }

    #[track_caller]
    fn inside(&self, path: &Path) -> PathBuf {
        let relative = path.strip_prefix("/").unwrap_or(path);
        let leads_out = relative.components().any(|part| !matches!(part, std::path::Component::Normal(_)));
        assert!(
            !leads_out && relative.components().next().is_some(),
            "{} is not inside the tree",
            path.display()
        );
        self.root.join(relative)
    }

    #[track_caller]
    fn parent(&self, path: &Path) {
        let folder = path.parent().unwrap_or(&self.root);
        fs::create_dir_all(folder)
            .unwrap_or_else(|error| panic!("cannot create {}: {error}", folder.display()));
    }
}

impl Default for FakeTree {
    fn default() -> Self {
        Self::new()
    }
}

impl Drop for FakeTree {
    fn drop(&mut self) {
        // Nothing depends on it; the system clears its temporary folder.
        let _ = fs::remove_dir_all(&self.root);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trees_are_apart_and_go_when_dropped() {
        let (one, two) = (FakeTree::new().file("a/b", "1"), FakeTree::new().file("/a/b", "2"));
        assert_ne!(one.root(), two.root());
        assert_eq!(fs::read_to_string(two.path("a/b")).unwrap(), "2");
        let root = one.root().to_owned();
        drop(one);
        assert!(!root.exists() && two.root().exists());
    }

    #[test]
    fn things_come_and_go() {
        let tree = FakeTree::new().folder("proc/1/fd").file("proc/1/stat", "x");
        tree.remove("proc/1/stat");
        assert!(tree.path("proc/1/fd").is_dir() && !tree.path("proc/1/stat").exists());
        tree.remove("proc/1");
        assert!(!tree.path("proc/1").exists());
    }

    #[cfg(unix)]
    #[test]
    fn links_lead_from_their_own_folder() {
        let tree =
            FakeTree::new().file("devices/card0/power", "9").link("class/drm/card0", "../../devices/card0");
        assert_eq!(fs::read_to_string(tree.path("class/drm/card0/power")).unwrap(), "9");
    }

    #[test]
    #[should_panic(expected = "is not inside the tree")]
    fn no_path_leads_out() {
        let _ = FakeTree::new().file("../x", "");
    }
}
