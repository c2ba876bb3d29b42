//! A run into its repositories. Everything is looked at before anything goes up; each repository changes in one commit;
//! a commit that comes too late looks again.

use std::path::Path;
use std::time::Duration;

use serde_json::Value;
use wattspan_core::Table;
use wattspan_dataset::LeaderboardFile;

use crate::api::{AccessToken, Change, Committed, Entry, Identity, Info, Mode};
use crate::file::LocalFile;
use crate::names::Names;
use crate::stage::{self, CARD, DATA, METADATA, Run, TABLES};
use crate::wire::{Backoff, Session};
use crate::{HubError, Progress, card};

/// Where a run is.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Pushed {
    /// Its results.
    pub results: PushedRepo,
    /// Its traces.
    pub traces: PushedRepo,
    /// Its metrics.
    pub metrics: PushedRepo,
    /// The leaderboard that has its row.
    pub leaderboard: PushedRepo,
}

/// A repository that is whole.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PushedRepo {
    /// `user/name`.
    pub id: String,
    /// Where it can be looked at.
    pub url: String,
    /// Whether there was anything to change.
    pub changed: bool,
}

/// A repository as it was found.
struct Found {
    id: String,
    head: Option<String>,
    tree: Vec<Entry>,
}

/// A repository that may not be there yet.
enum Place {
    Absent(String),
    There(Found),
}

pub(crate) async fn push(
    session: &Session<'_>,
    folder: &Path,
    done: &mut Vec<String>,
) -> Result<Pushed, HubError> {
    let run = Run::open(folder)?;
    let identity = session.whoami().await?;
    may_write(session, &identity)?;
    if identity.name.is_empty() && session.settings.options.namespace.is_none() {
        return Err(session.malformed("ask whose token this is", "it names nobody"));
    }
    let names = session.settings.names(&identity.name, &run.id, &run.stamp)?;

    // What cannot be read here is found out before anything is made there.
    let staging = tempfile::Builder::new().prefix("wattspan-hub-").tempdir();
    let staging = staging.map_err(|source| HubError::File {
        operation: "make a folder in",
        path: std::env::temp_dir(),
        source,
    })?;
    let mut rows = [0; 3];
    for (table, rows) in TABLES.iter().zip(&mut rows) {
        session.report(Progress::Writing { table: *table });
        *rows = run.write_table(*table, &staging.path().join(table.as_str()))?;
    }

    // All four are there and as private as they should be before data goes into one of them.
    let mut places = Vec::new();
    for table in TABLES {
        places.push(session.place(&names, table, &run).await?);
    }
    places.push(session.look(&names.leaderboard()).await?);
    for place in places {
        session.ensure(place).await?;
    }

    let mut pushed = Vec::new();
    for (table, rows) in TABLES.into_iter().zip(rows) {
        let place = staging.path().join(table.as_str());
        let repo = session.push_table(&run, &names, (table, rows), &place).await?;
        done.push(repo.id.clone());
        pushed.push(repo);
    }
    let [results, traces, metrics] = <[PushedRepo; 3]>::try_from(pushed)
        .map_err(|_| session.malformed("push the tables", "not all of them are there"))?;
    let ids = [results.id.clone(), traces.id.clone(), metrics.id.clone()];
    let place = staging.path().join("leaderboard");
    let leaderboard = session.push_row(&run, &names, &ids, &identity.name, &place).await?;
    Ok(Pushed { results, traces, metrics, leaderboard })
}

impl Session<'_> {
    /// Where a table goes: the usual repository, or the next one when that holds another run.
    async fn place(&self, names: &Names, table: Table, run: &Run) -> Result<Place, HubError> {
        let mut last = String::new();
        for id in names.candidates(table) {
            match self.look(&id).await? {
                Place::There(found) if !self.is_of(&found, run).await? => last = found.id,
                place => return Ok(place),
            }
        }
        Err(HubError::Taken { repo: last })
    }

    async fn look(&self, id: &str) -> Result<Place, HubError> {
        match self.info(id).await? {
            None => Ok(Place::Absent(id.to_owned())),
            Some(info) => self.found(id, info).await.map(Place::There),
        }
    }

    /// What is in a repository. One that is not as private as it should be goes no further.
    async fn found(&self, id: &str, info: Info) -> Result<Found, HubError> {
        let wanted = self.settings.options.visibility;
        match info.visibility() {
            Some(found) if found == wanted => {}
            Some(found) => return Err(HubError::Visibility { repo: id.to_owned(), found, wanted }),
            None => return Err(self.malformed("look at", format!("it does not say who may see {id}"))),
        }
        let tree = match &info.sha {
            Some(head) => self.tree(id, head).await?,
            None => Vec::new(),
        };
        Ok(Found { id: id.to_owned(), head: info.sha, tree })
    }

    /// Makes a repository that is not there, and looks whether it has become what was asked for.
    async fn ensure(&self, place: Place) -> Result<Found, HubError> {
        let id = match place {
            Place::There(found) => return Ok(found),
            Place::Absent(id) => id,
        };
        let is_new = self.create(&id).await?;
        match self.info(&id).await? {
            Some(info) => self.found(&id, info).await,
            None if is_new => Err(self.malformed("create", format!("{id} is not there afterwards"))),
            None => Err(HubError::NoRight {
                operation: "look at",
                target: id,
                said: "it is there and does not show".to_owned(),
            }),
        }
    }

    /// Whether a repository is this run's, or nobody's yet.
    async fn is_of(&self, found: &Found, run: &Run) -> Result<bool, HubError> {
        let has = |name: &str| found.tree.iter().any(|entry| entry.path == name);
        let Some(head) = found.head.as_deref().filter(|_| has(METADATA)) else {
            let is_data = |entry: &Entry| !matches!(entry.path.as_str(), CARD | ".gitattributes");
            return Ok(!found.tree.iter().any(is_data));
        };
        let bytes = self.download(&found.id, head, METADATA).await?;
        let metadata: Value = serde_json::from_slice(&bytes).unwrap_or_default();
        Ok(metadata["run_id"].as_str() == Some(run.id.as_str()))
    }

    async fn push_table(
        &self,
        run: &Run,
        names: &Names,
        (table, rows): (Table, u64),
        place: &Path,
    ) -> Result<PushedRepo, HubError> {
        let summary = format!("Add the {} of run {}", table.as_str(), run.id);
        let mut backoff = Backoff::new(FIRST_WAIT);
        for _ in 0..TRIES {
            let found = self.ensure(self.place(names, table, run).await?).await?;
            // It may have been made by another run of the same second just now.
            if !self.is_of(&found, run).await? {
                continue;
            }
            run.write_card(table, rows, &found.id, &names.leaderboard(), place)?;
            let files = stage::files(place)?;
            if let Some(repo) = self.change(&found, &files, &summary).await? {
                return Ok(repo);
            }
            self.after_conflict(&mut backoff, &found.id).await?;
        }
        Err(HubError::Conflict { repo: names.candidates(table).swap_remove(0), tries: TRIES })
    }

    async fn push_row(
        &self,
        run: &Run,
        names: &Names,
        ids: &[String; 3],
        user: &str,
        place: &Path,
    ) -> Result<PushedRepo, HubError> {
        let (id, summary) = (names.leaderboard(), format!("Put the row of run {}", run.id));
        let mut backoff = Backoff::new(FIRST_WAIT);
        for _ in 0..TRIES {
            let found = self.ensure(self.look(&id).await?).await?;
            let mut board = self.board(&found).await?;
            stage::write_board(&mut board, run.row(ids, Some(user))?, names, place)?;
            self.write_board_card(&found, place).await?;
            if let Some(repo) = self.change(&found, &stage::files(place)?, &summary).await? {
                return Ok(repo);
            }
            self.after_conflict(&mut backoff, &id).await?;
        }
        Err(HubError::Conflict { repo: id, tries: TRIES })
    }

    /// The leaderboard as it stands, whoever wrote it.
    async fn board(&self, found: &Found) -> Result<LeaderboardFile, HubError> {
        let refused = |reason| HubError::Leaderboard { repo: found.id.clone(), reason };
        let shards: Vec<&Entry> = found.tree.iter().filter(|entry| is_table(entry)).collect();
        match (shards.as_slice(), &found.head) {
            ([], _) | (_, None) => Ok(LeaderboardFile::new()),
            ([one], Some(head)) => {
                let bytes = self.download(&found.id, head, &one.path).await?;
                LeaderboardFile::from_bytes(bytes).map_err(|error| refused(error.to_string()))
            }
            (several, _) => Err(refused(format!("it is in {} files: make one of them", several.len()))),
        }
    }

    /// A card that people wrote stays theirs, but for a description of columns that would be wrong afterwards.
    async fn write_board_card(&self, found: &Found, place: &Path) -> Result<(), HubError> {
        let is_there = found.tree.iter().any(|entry| entry.path == CARD);
        let own = card::of_leaderboard(&found.id);
        let text = match found.head.as_deref().filter(|_| is_there) {
            None => own,
            Some(head) => {
                let bytes = self.download(&found.id, head, CARD).await?;
                card::kept(&String::from_utf8_lossy(&bytes)).unwrap_or(own)
            }
        };
        stage::write(&place.join(CARD), text.as_bytes())
    }

    /// Makes a repository hold these files, and of tables no other; `None` when someone else was faster.
    async fn change(
        &self,
        found: &Found,
        files: &[LocalFile],
        summary: &str,
    ) -> Result<Option<PushedRepo>, HubError> {
        let repo = &found.id;
        let is_new =
            |file: &&LocalFile| !found.tree.iter().any(|entry| entry.path == file.name && entry.is(file));
        let new: Vec<&LocalFile> = files.iter().filter(is_new).collect();
        let leftover = found.tree.iter().filter(|entry| is_table(entry) && entry.path != DATA);
        let mut changes: Vec<Change<'_>> = Vec::new();
        if !new.is_empty() {
            if let Some(card) = new.iter().find(|file| file.name == CARD) {
                self.validate_card(repo, &String::from_utf8_lossy(&card.bytes()?)).await?;
            }
            let modes = self.preupload(repo, &new).await?;
            for (file, mode) in new.iter().zip(modes) {
                match mode {
                    Mode::Lfs => {
                        self.upload(repo, file).await?;
                        changes.push(Change::Lfs(file));
                    }
                    Mode::Regular => changes.push(Change::Regular(file)),
                }
            }
        }
        changes.extend(leftover.map(|entry| Change::Delete(&entry.path)));
        let changed = !changes.is_empty();
        if changed {
            self.report(Progress::Committing { repo: repo.clone() });
            match self.commit(repo, found.head.as_deref(), summary, &changes).await? {
                Committed::Done => {}
                Committed::Stale => return Ok(None),
            }
        }
        let url = self.url(&format!("/datasets/{repo}")).to_string();
        self.report(Progress::Done { repo: repo.clone(), url: url.clone(), changed });
        Ok(Some(PushedRepo { id: repo.clone(), url, changed }))
    }

    async fn after_conflict(&self, backoff: &mut Backoff, repo: &str) -> Result<(), HubError> {
        let reason = format!("{repo} was changed by another writer");
        if self.wait(backoff.next(), &reason).await {
            Ok(())
        } else {
            Err(HubError::Conflict { repo: repo.to_owned(), tries: TRIES })
        }
    }
}

/// A token that says of itself that it may only read need not be tried.
fn may_write(session: &Session<'_>, identity: &Identity) -> Result<(), HubError> {
    let role = identity.auth.token.as_ref().and_then(|AccessToken { role, .. }| role.as_deref());
    if role == Some("read") {
        return Err(HubError::NoRight {
            operation: "write to",
            target: session.settings.options.namespace.clone().unwrap_or_else(|| identity.name.clone()),
            said: "it may only read".to_owned(),
        });
    }
    Ok(())
}

fn is_table(entry: &Entry) -> bool {
    entry.path.starts_with("data/") && entry.path.ends_with(".parquet")
}

/// Each failed one is someone else's success, so that so many writers at once all get in.
const TRIES: u32 = 40;
const FIRST_WAIT: Duration = Duration::from_millis(500);
