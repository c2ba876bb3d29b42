//! Finds, copies and loads the shared library.

use std::env;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::SystemTime;

use crate::error::Error;
use crate::image::{Refused, remove_symbol};

/// Names the library where it does not lie with the test's own program.
const VARIABLE: &str = "FAKE_NVML_LIBRARY";
/// What cargo calls it: for a path dependency without, from a registry with, a hash after a hyphen.
const STEM: &str = "libwattspan_fake_nvml";

/// The built library.
pub(crate) fn find() -> Result<PathBuf, Error> {
    if let Some(path) = env::var_os(VARIABLE).map(PathBuf::from) {
        return if path.is_file() { Ok(path) } else { Err(Error::NotBuilt { looked_in: vec![path] }) };
    }
    let looked_in = places();
    for place in &looked_in {
        if let Some(path) = newest(place) {
            return Ok(path);
        }
    }
    Err(Error::NotBuilt { looked_in })
}

/// Folders to look in: a test lies in `deps` itself, a binary beside it, an example next to it; a documentation test
/// lies elsewhere, and cargo names the folders in the loader's search path.
fn places() -> Vec<PathBuf> {
    let mut places = Vec::new();
    if let Some(folder) = env::current_exe().ok().as_deref().and_then(Path::parent) {
        places.extend([folder.to_owned(), folder.join("deps")]);
        places.extend(folder.parent().map(|profile| profile.join("deps")));
    }
    if let Some(search) = env::var_os("LD_LIBRARY_PATH") {
        for folder in env::split_paths(&search).filter(|folder| !folder.as_os_str().is_empty()) {
            places.extend([folder.join("deps"), folder]);
        }
    }
    if let Some(target) = env::var_os("CARGO_TARGET_DIR").map(PathBuf::from) {
        places.push(target.join("debug/deps"));
    }
    if let Some(manifest) = env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from) {
        places.extend(manifest.ancestors().map(|folder| folder.join("target/debug/deps")));
    }
    places
}

/// The library built last in a folder.
fn newest(folder: &Path) -> Option<PathBuf> {
    let ours = |path: &PathBuf| {
        let stem = path.file_stem().and_then(OsStr::to_str).and_then(|stem| stem.strip_prefix(STEM));
        path.extension() == Some(OsStr::new("so"))
            && stem.is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
    };
    let built = |path: &PathBuf| {
        fs::metadata(path).and_then(|metadata| metadata.modified()).unwrap_or(SystemTime::UNIX_EPOCH)
    };
    fs::read_dir(folder)
        .ok()?
        .filter_map(|entry| entry.ok().map(|entry| entry.path()))
        .filter(ours)
        .max_by_key(built)
}

/// A new folder in the temporary directory.
pub(crate) fn make_folder() -> Result<PathBuf, Error> {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    loop {
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let folder = env::temp_dir().join(format!("fake-nvml-{}-{number}", std::process::id()));
        match fs::create_dir(&folder) {
            Ok(()) => return Ok(folder),
            // Left by a process of the same number that died.
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
            Err(source) => return Err(Error::Io { operation: "create", path: folder, source }),
        }
    }
}

/// A copy of the library in a folder of its own, which goes away with this.
///
/// The loader takes files with the same device and inode for the same library; so only a copy has its own state.
#[derive(Debug)]
pub(crate) struct Copy {
    folder: PathBuf,
    path: PathBuf,
}

impl Copy {
    pub(crate) fn new(source: &Path, without: &[String]) -> Result<Self, Error> {
        let io = |operation, path: &Path| {
            let path = path.to_owned();
            move |source| Error::Io { operation, path, source }
        };
        let folder = make_folder()?;
        // From here on the folder goes away whatever fails.
        let copy = Self { path: folder.join("libnvidia-ml.so.1"), folder };
        if without.is_empty() {
            fs::copy(source, &copy.path).map_err(io("copy", source))?;
            return Ok(copy);
        }
        let mut image = fs::read(source).map_err(io("read", source))?;
        for name in without {
            remove_symbol(&mut image, name).map_err(|refused| match refused {
                Refused::NotElf => Error::NotElf { path: source.to_owned() },
                Refused::NoSymbol => Error::NoSymbol { name: name.clone() },
            })?;
        }
        fs::write(&copy.path, image).map_err(io("write", &copy.path))?;
        Ok(copy)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Copy {
    fn drop(&mut self) {
        // A folder that stays behind in the temporary directory harms nobody.
        let _ = fs::remove_dir_all(&self.folder);
    }
}

pub(crate) use loaded::Loaded;

#[cfg(target_os = "linux")]
mod loaded {
    //! The loaded copy and its two control functions.
    #![allow(unsafe_code)] // The C library's loader is called here, and what it finds.

    use std::ffi::{CStr, CString, c_char, c_int, c_void};
    use std::os::unix::ffi::OsStrExt;
    use std::path::Path;
    use std::ptr::NonNull;

    use super::Error;

    unsafe extern "C" {
        fn dlopen(path: *const c_char, flags: c_int) -> *mut c_void;
        fn dlsym(library: *mut c_void, name: *const c_char) -> *mut c_void;
        fn dlerror() -> *const c_char;
        fn dlclose(library: *mut c_void) -> c_int;
    }

    /// `RTLD_NOW`, which with `RTLD_LOCAL` (0) is the same on every Linux.
    const NOW: c_int = 2;

    type Control = unsafe extern "C" fn(*const c_char) -> c_int;
    type Query = unsafe extern "C" fn(*const c_char, *mut c_char, usize) -> isize;

    #[derive(Debug)]
    pub(crate) struct Loaded {
        library: NonNull<c_void>,
        control: Control,
        query: Query,
    }

    // SAFETY: the handle is only used to close the library, and both functions take the library's own lock.
    unsafe impl Send for Loaded {}
    // SAFETY: as above.
    unsafe impl Sync for Loaded {}

    impl Loaded {
        pub(crate) fn open(path: &Path) -> Result<Self, Error> {
            let failed = |message: String| Error::Load { path: path.to_owned(), message };
            let name =
                CString::new(path.as_os_str().as_bytes()).map_err(|error| failed(error.to_string()))?;
            // SAFETY: the name ends in a NUL; the library runs no code of its own when it is loaded.
            let library = unsafe { dlopen(name.as_ptr(), NOW) };
            let Some(library) = NonNull::new(library) else { return Err(failed(last_error())) };
            let find = |name: &CStr| {
                // SAFETY: the library is open and the name ends in a NUL.
                let found = unsafe { dlsym(library.as_ptr(), name.as_ptr()) };
                NonNull::new(found).ok_or_else(|| failed(last_error()))
            };
            let found = find(c"fake_nvml_ctl").and_then(|control| Ok((control, find(c"fake_nvml_query")?)));
            match found {
                Ok((control, query)) => Ok(Self {
                    library,
                    // SAFETY: the library that exports this name is this crate's, and this is the function's type.
                    control: unsafe { std::mem::transmute::<*mut c_void, Control>(control.as_ptr()) },
                    // SAFETY: as above.
                    query: unsafe { std::mem::transmute::<*mut c_void, Query>(query.as_ptr()) },
                }),
                Err(error) => {
                    // SAFETY: opened above, and nothing found in it is kept.
                    unsafe { dlclose(library.as_ptr()) };
                    Err(error)
                }
            }
        }

        /// Number of the first wrong line, from 1 on, or 0.
        pub(crate) fn control(&self, lines: &CStr) -> c_int {
            // SAFETY: the library is open as long as `self`, and the text ends in a NUL.
            unsafe { (self.control)(lines.as_ptr()) }
        }

        /// The answer, and whether it is one.
        pub(crate) fn query(&self, question: &CStr) -> (bool, String) {
            let mut buffer = vec![0_u8; 1024];
            loop {
                let out = buffer.as_mut_ptr().cast();
                // SAFETY: the library is open as long as `self`; the buffer has the length that is given.
                let length = unsafe { (self.query)(question.as_ptr(), out, buffer.len()) };
                if usize::try_from(length).is_ok_and(|length| length >= buffer.len()) {
                    // The answer may have grown again by the next time; then there is one more round.
                    buffer.resize(length as usize + 1, 0);
                    continue;
                }
                let answer = CStr::from_bytes_until_nul(&buffer).unwrap_or_default();
                return (length >= 0, answer.to_string_lossy().into_owned());
            }
        }
    }

    impl Drop for Loaded {
        fn drop(&mut self) {
            // SAFETY: opened by `open`; other users of the library hold it open themselves.
            unsafe { dlclose(self.library.as_ptr()) };
        }
    }

    fn last_error() -> String {
        // SAFETY: the message is valid until the next call of the loader on this thread.
        let message = unsafe { dlerror() };
        if message.is_null() {
            return "no reason given".to_owned();
        }
        // SAFETY: not null, and the loader's message ends in a NUL.
        unsafe { CStr::from_ptr(message) }.to_string_lossy().into_owned()
    }
}

#[cfg(not(target_os = "linux"))]
mod loaded {
    //! Nothing is loaded here.

    use std::ffi::{CStr, c_int};
    use std::path::Path;

    use super::Error;

    #[derive(Debug)]
    pub(crate) enum Loaded {}

    impl Loaded {
        pub(crate) fn open(_path: &Path) -> Result<Self, Error> {
            Err(Error::Unsupported)
        }

        pub(crate) fn control(&self, _lines: &CStr) -> c_int {
            match *self {}
        }

        pub(crate) fn query(&self, _question: &CStr) -> (bool, String) {
            match *self {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(files: &[&str], found: Option<&str>) {
        let folder = make_folder().expect("a temporary folder");
        for file in files {
            fs::write(folder.join(file), "").expect("a file that can be written");
        }
        let newest = newest(&folder);
        fs::remove_dir_all(&folder).expect("a folder that can be removed");
        assert_eq!(newest, found.map(|found| folder.join(found)));
    }

    #[test]
    fn library_has_a_hash_or_none() {
        check(&["libwattspan_fake_nvml.so", "libwattspan_fake_nvml.rlib"], Some("libwattspan_fake_nvml.so"));
        // As cargo names it for a dependency from a registry.
        let hashed = "libwattspan_fake_nvml-f6da2b858a8d1caa.so";
        check(&[hashed, "libwattspan_fake_nvml-f6da2b858a8d1caa.rlib"], Some(hashed));
        check(&["libwattspan_fake_nvml_other.so", "libwattspan_fake_nvml.d", "libnvidia-ml.so"], None);
    }

    #[test]
    fn folder_that_is_not_there_has_no_library() {
        assert_eq!(newest(Path::new("/nowhere/at/all")), None);
    }
}
