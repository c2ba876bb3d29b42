//! Which process serves a local port or socket, and which container a process is in.

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::path::Path;

use wattspan_core::{Reading, Remedy};

use crate::files::{Disk, Files, is_denied, text};
use crate::procfs::{Listener, listeners, process_ticks, socket_inode, unix_listeners};
use crate::{ContainerRef, remedy};

/// The process that listens on a TCP port of this machine, so that a local model server's CPU time can be told from
/// others'.
///
/// `root` is `/` but for tests. Where several processes share the socket, as forked workers do, it is the one that
/// began first. Looks through all of `/proc`, which takes milliseconds: call it once for a server, off the hot path.
///
/// **Absent** `NotSupported` outside Linux; `Denied` when the server belongs to another user; `Failed` when nothing
/// listens there, as with a server in another network namespace whose port is forwarded.
///
/// ```
/// use std::path::Path;
/// use wattspan_host::process_by_port;
///
/// let server = std::net::TcpListener::bind("127.0.0.1:0")?;
/// let found = process_by_port(Path::new("/"), server.local_addr()?.port());
/// # if cfg!(target_os = "linux") {
/// assert_eq!(found.value(), Some(std::process::id()));
/// # }
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn process_by_port(root: &Path, port: u16) -> Reading<u32> {
    by_port(&Disk, root, port)
}

/// The process that listens on a Unix socket of this machine, named by the path that it was bound to.
///
/// As [`process_by_port`].
pub fn process_by_socket(root: &Path, socket: &Path) -> Reading<u32> {
    by_socket(&Disk, root, socket)
}

/// The container that a process runs in; `None` inside the reading for one outside containers.
///
/// `root` is `/` but for tests, or where the host's `proc` is mounted.
///
/// **Absent** `Failed` when the process has ended, also when its number was given to another one meanwhile: its energy is
/// then nobody's; `Denied` when its files may not be read.
pub fn container_by_process(root: &Path, pid: u32) -> Reading<Option<ContainerRef>> {
    container(&Disk, root, pid)
}

pub(crate) fn container(files: &dyn Files, root: &Path, pid: u32) -> Reading<Option<ContainerRef>> {
    let folder = root.join("proc").join(pid.to_string());
    let start = || {
        let stat = text(files, &folder.join("stat")).ok()?;
        process_ticks(stat.as_bytes()).map(|ticks| ticks.start)
    };
    let before = start();
    let path = folder.join("cgroup");
    let groups = match text(files, &path) {
        Ok(groups) => groups,
        Err(error) if is_denied(&error) => return Reading::Denied(Remedy::new(remedy::other_user(&path))),
        Err(_) => return Reading::failed("the process has ended"),
    };
    // A number that was given away between the two reads names another process's container.
    if before.is_none() || before != start() {
        return Reading::failed("the process has ended");
    }
    Reading::Value(ContainerRef::parse(&groups))
}

pub(crate) fn by_port(files: &dyn Files, root: &Path, port: u16) -> Reading<u32> {
    let proc = root.join("proc");
    let tables = ["net/tcp", "net/tcp6"].map(|table| text(files, &proc.join(table)));
    if tables.iter().all(Result::is_err) {
        return Reading::NotSupported;
    }
    let found: Vec<Listener> = tables
        .iter()
        .flatten()
        .flat_map(|table| listeners(table))
        .filter(|listener| listener.port == port)
        .collect();
    // Two servers may share a port on different addresses; a local client reaches the one on loopback.
    let nearest = found.iter().map(|listener| distance(listener.address)).min();
    let inodes: BTreeSet<u64> = found
        .iter()
        .filter(|listener| Some(distance(listener.address)) == nearest)
        .map(|listener| listener.inode)
        .collect();
    if inodes.is_empty() {
        return Reading::failed(format!("nothing listens on TCP port {port} here"));
    }
    owner(files, &proc, &inodes)
}

pub(crate) fn by_socket(files: &dyn Files, root: &Path, socket: &Path) -> Reading<u32> {
    let proc = root.join("proc");
    let Ok(table) = text(files, &proc.join("net/unix")) else {
        return Reading::NotSupported;
    };
    let inodes: BTreeSet<u64> = unix_listeners(&table, &socket.to_string_lossy()).into_iter().collect();
    if inodes.is_empty() {
        return Reading::failed(format!("nothing listens on {} here", socket.display()));
    }
    owner(files, &proc, &inodes)
}

fn distance(address: IpAddr) -> u8 {
    match address {
        address if address.is_loopback() => 0,
        address if address.is_unspecified() => 1,
        _ => 2,
    }
}

/// The first process that holds one of the sockets open.
fn owner(files: &dyn Files, proc: &Path, inodes: &BTreeSet<u64>) -> Reading<u32> {
    let mut first: Option<(u64, u32)> = None;
    let mut denied = None;
    for pid in files.list(proc).unwrap_or_default().iter().filter_map(|name| name.parse::<u32>().ok()) {
        let folder = proc.join(pid.to_string());
        let table = folder.join("fd");
        let names = match files.list(&table) {
            Ok(names) => names,
            Err(error) => {
                if is_denied(&error) && denied.is_none() {
                    denied = Some(table);
                }
                continue;
            }
        };
        let holds = names.iter().any(|name| {
            let inode = files.link(&table.join(name)).ok().and_then(|link| socket_inode(&link));
            inode.is_some_and(|inode| inodes.contains(&inode))
        });
        if holds {
            let stat = text(files, &folder.join("stat")).unwrap_or_default();
            let start = process_ticks(stat.as_bytes()).map_or(u64::MAX, |ticks| ticks.start);
            first = first.min(Some((start, pid))).or(Some((start, pid)));
        }
    }
    match (first, denied) {
        (Some((_, pid)), _) => Reading::Value(pid),
        (None, Some(path)) => Reading::Denied(Remedy::new(remedy::other_user(&path))),
        (None, None) => Reading::failed("the process behind the socket is not visible here"),
    }
}
