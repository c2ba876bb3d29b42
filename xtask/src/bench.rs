//! `cargo xtask bench [name] [-- arguments]`: the benchmarks of all crates, or those of one crate or one name.

use crate::Outcome;
use crate::metadata::Metadata;
use crate::process::{cargo, run};

pub fn command(args: &[String]) -> Outcome {
    let split = args.iter().position(|arg| arg == "--").unwrap_or(args.len());
    let (names, rest) = args.split_at(split);
    let wanted = match names {
        [] => None,
        [one] => Some(one.as_str()),
        _ => return Err("bench takes one name; what follows `--` goes to the benchmarks".into()),
    };
    let all = all(&Metadata::load()?);
    let chosen = choose(&all, wanted)?;
    for (package, bench) in chosen {
        let mut command = cargo();
        command.args(["bench", "--locked", "--package", package, "--bench", bench]).args(rest);
        run(&mut command)?;
    }
    Ok(())
}

/// (package, benchmark), in the order of the packages.
fn all(metadata: &Metadata) -> Vec<(String, String)> {
    let benches = metadata.members().flat_map(|package| {
        let targets = package.targets.iter().filter(|target| target.is("bench"));
        targets.map(|target| (package.name.clone(), target.name.clone()))
    });
    benches.collect()
}

fn choose<'a>(all: &'a [(String, String)], wanted: Option<&str>) -> Outcome<Vec<(&'a str, &'a str)>> {
    let fits = |package: &str, bench: &str| wanted.is_none_or(|name| name == package || name == bench);
    let chosen: Vec<_> =
        all.iter().map(|(p, b)| (p.as_str(), b.as_str())).filter(|(p, b)| fits(p, b)).collect();
    if let (true, Some(name)) = (chosen.is_empty(), wanted) {
        let there: Vec<String> = all.iter().map(|(p, b)| format!("{p} {b}")).collect();
        return Err(format!(
            "no benchmark or crate with benchmarks is called `{name}`; there are: {}",
            there.join(", ")
        ));
    }
    Ok(chosen)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_a_crate_or_a_benchmark() {
        let all = [("a", "speed"), ("a", "size"), ("b", "speed")].map(|(p, b)| (p.to_owned(), b.to_owned()));
        assert_eq!(choose(&all, None).unwrap().len(), 3);
        assert_eq!(choose(&all, Some("a")).unwrap(), [("a", "speed"), ("a", "size")]);
        assert_eq!(choose(&all, Some("speed")).unwrap(), [("a", "speed"), ("b", "speed")]);
        assert!(choose(&all, Some("c")).unwrap_err().contains("a size"));
    }
}
