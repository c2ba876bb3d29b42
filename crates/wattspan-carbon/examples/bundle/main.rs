//! Writes the tables of `src/tables/` anew from `data/`. For those who change the data; takes no arguments.

mod generate;

use std::fs;
use std::path::Path;

fn main() -> std::io::Result<()> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    for (file, text) in generate::tables(&root.join("data")) {
        fs::write(root.join("src/tables").join(file), text)?;
    }
    Ok(())
}
