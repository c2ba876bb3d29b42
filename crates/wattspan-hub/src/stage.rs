//! What goes up, written down first: for a push into a temporary folder, for a dry run into the user's.

use std::fs;
use std::path::{Path, PathBuf};

use wattspan_core::{Cell, Row, RunId, Table};
use wattspan_dataset::{JsonRun, LeaderboardFile};

use crate::HubError;
use crate::card;
use crate::file::LocalFile;
use crate::hub::Settings;
use crate::names::{Names, bare};

/// A finished run.
pub(crate) struct Run {
    pub(crate) files: JsonRun,
    pub(crate) id: RunId,
    pub(crate) stamp: String,
    pub(crate) metadata: Vec<(std::borrow::Cow<'static, str>, Cell)>,
}

/// The three tables that a run has for itself.
pub(crate) const TABLES: [Table; 3] = [Table::Results, Table::Traces, Table::Metrics];
/// Where a table is in its repository: as `datasets` names it, so that its readers find it.
pub(crate) const DATA: &str = "data/train-00000-of-00001.parquet";
pub(crate) const CARD: &str = "README.md";
pub(crate) const METADATA: &str = "metadata.json";

impl Run {
    pub(crate) fn open(folder: &Path) -> Result<Self, HubError> {
        let files = JsonRun::open(folder);
        let id = files.run_id().map_err(HubError::Run)?;
        let stamp = files.stamp().map_err(HubError::Run)?;
        let mut metadata = match files.metadata_cell().map_err(HubError::Run)? {
            Cell::Map(values) => values,
            _ => Vec::new(),
        };
        // By it a later push knows that the repository is this run's.
        put(&mut metadata, "run_id", Cell::Text(id.to_string().into()));
        Ok(Self { files, id, stamp, metadata })
    }

    /// The run's row of the leaderboard, which says where its tables are.
    pub(crate) fn row(&self, places: &[String; 3], user: Option<&str>) -> Result<Row, HubError> {
        let mut rows = self.files.rows(Table::Leaderboard).map_err(HubError::Run)?;
        let mut row = rows.next().transpose().map_err(HubError::Run)?.unwrap_or_default();
        put(&mut row.0, "run_id", Cell::Text(self.id.to_string().into()));
        for (table, place) in TABLES.iter().zip(places) {
            let column = match table {
                Table::Results => "results_dataset",
                Table::Traces => "traces_dataset",
                _ => "metrics_dataset",
            };
            put(&mut row.0, column, Cell::Text(place.clone().into()));
        }
        let is_known = row.0.iter().any(|(name, cell)| name == "submitted_by" && *cell != Cell::Null);
        if let Some(user) = user.filter(|_| !is_known) {
            put(&mut row.0, "submitted_by", Cell::Text(user.to_owned().into()));
        }
        Ok(row)
    }

    /// Writes a table and the run's metadata as they will be in their repository; answers with the number of rows.
    pub(crate) fn write_table(&self, table: Table, place: &Path) -> Result<u64, HubError> {
        make(&place.join("data"))?;
        let rows = self.files.write_parquet(table, place.join(DATA)).map_err(HubError::Tables)?;
        let metadata = Cell::Map(self.metadata.clone());
        let text = serde_json::to_vec_pretty(&metadata).map_err(|error| HubError::File {
            operation: "write",
            path: place.join(METADATA),
            source: error.into(),
        })?;
        write(&place.join(METADATA), &text)?;
        Ok(rows)
    }

    pub(crate) fn write_card(
        &self,
        table: Table,
        rows: u64,
        repo: &str,
        leaderboard: &str,
        place: &Path,
    ) -> Result<(), HubError> {
        let card = card::of_table(table, rows, self, repo, leaderboard);
        write(&place.join(CARD), card.as_bytes())
    }
}

/// The files of a repository that were written below `place`, those that are there.
pub(crate) fn files(place: &Path) -> Result<Vec<LocalFile>, HubError> {
    let names = [DATA, METADATA, CARD].into_iter().filter(|name| place.join(name).is_file());
    names.map(|name| LocalFile::read(place.join(name), name)).collect()
}

pub(crate) fn dry_run(settings: &Settings, folder: &Path, out: &Path) -> Result<Vec<PathBuf>, HubError> {
    let run = Run::open(folder)?;
    // Whose token it is only the Hub knows, and it is not asked.
    let user = settings.options.namespace.as_deref().unwrap_or("USER");
    let names = settings.names(user, &run.id, &run.stamp)?;
    let first = |table| names.candidates(table).swap_remove(0);
    let places = TABLES.map(first);
    let mut written = Vec::new();
    for (table, repo) in TABLES.iter().zip(&places) {
        let place = out.join(bare(repo));
        let rows = run.write_table(*table, &place)?;
        run.write_card(*table, rows, repo, &names.leaderboard(), &place)?;
        written.extend([DATA, METADATA, CARD].map(|name| place.join(name)));
    }
    let place = out.join(bare(&names.leaderboard()));
    write_board(&mut LeaderboardFile::new(), run.row(&places, None)?, &names, &place)?;
    write(&place.join(CARD), card::of_leaderboard(&names.leaderboard()).as_bytes())?;
    written.extend([DATA, CARD].map(|name| place.join(name)));
    Ok(written)
}

/// Puts a row into a leaderboard and writes it as it will be in its repository.
pub(crate) fn write_board(
    board: &mut LeaderboardFile,
    row: Row,
    names: &Names,
    place: &Path,
) -> Result<(), HubError> {
    make(&place.join("data"))?;
    let written = board.put([row]).and_then(|()| board.write(place.join(DATA)));
    written.map_err(|error| HubError::Leaderboard { repo: names.leaderboard(), reason: error.to_string() })
}

/// Sets a named value, in its place when it has one.
pub(crate) fn put(values: &mut Vec<(std::borrow::Cow<'static, str>, Cell)>, name: &'static str, cell: Cell) {
    match values.iter_mut().find(|(known, _)| known == name) {
        Some((_, value)) => *value = cell,
        None => values.push((name.into(), cell)),
    }
}

pub(crate) fn make(folder: &Path) -> Result<(), HubError> {
    fs::create_dir_all(folder).map_err(|source| HubError::File {
        operation: "make the folder",
        path: folder.to_owned(),
        source,
    })
}

pub(crate) fn write(path: &Path, bytes: &[u8]) -> Result<(), HubError> {
    fs::write(path, bytes).map_err(|source| HubError::File {
        operation: "write",
        path: path.to_owned(),
        source,
    })
}
