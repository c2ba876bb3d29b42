//! A guess at the country from the operating system's time zone or locale. Always labelled as a guess.

use std::fs;
use std::path::Path;

/// The country of the configured time zone, by the tz database's own table on this machine.
///
/// Read at run time: `zone.tab` names one country for each zone (tzdata, public domain). A zone that stands for
/// several countries, or for none (`UTC`), is no guess.
pub(super) fn time_zone_country(
    root: &Path,
    lookup: &dyn Fn(&str) -> Option<String>,
) -> Option<(String, String)> {
    let zone = time_zone(root, lookup)?;
    let folder = root.join("usr/share/zoneinfo");
    let text = fs::read_to_string(folder.join("zone.tab"))
        .or_else(|_| fs::read_to_string(folder.join("zone1970.tab")))
        .ok()?;
    Some((country_in_table(&text, &zone)?, zone))
}

/// The territory of the locale: `DE` of `de_DE.UTF-8`. `en_US` is what most installations are left with wherever they
/// stand, so it says nothing.
pub(super) fn locale_country(lookup: &dyn Fn(&str) -> Option<String>) -> Option<(String, String)> {
    let locale = ["LC_ALL", "LC_MEASUREMENT", "LC_PAPER", "LANG"]
        .into_iter()
        .find_map(|name| lookup(name).filter(|text| !text.is_empty()))?;
    let plain = locale.split(['.', '@']).next()?;
    let (language, territory) = plain.split_once('_')?;
    let is_country = territory.len() == 2 && territory.bytes().all(|byte| byte.is_ascii_uppercase());
    (is_country && (language, territory) != ("en", "US")).then(|| (territory.to_owned(), locale.clone()))
}

fn time_zone(root: &Path, lookup: &dyn Fn(&str) -> Option<String>) -> Option<String> {
    if let Some(text) = lookup("TZ").filter(|text| !text.is_empty()) {
        return zone_name(text.trim_start_matches(':'));
    }
    let linked = fs::read_link(root.join("etc/localtime")).ok();
    linked
        .and_then(|target| zone_name(&target.to_string_lossy()))
        .or_else(|| zone_name(fs::read_to_string(root.join("etc/timezone")).ok()?.trim()))
}

/// `Europe/Berlin` of itself or of `/usr/share/zoneinfo/Europe/Berlin`.
fn zone_name(text: &str) -> Option<String> {
    let name = text.rsplit_once("zoneinfo/").map_or(text, |(_, name)| name);
    (name.contains('/') && !name.starts_with('/')).then(|| name.to_owned())
}

fn country_in_table(table: &str, zone: &str) -> Option<String> {
    let line = table
        .lines()
        .filter(|line| !line.starts_with('#'))
        .find(|line| line.split('\t').nth(2) == Some(zone))?;
    let codes = line.split('\t').next()?;
    (codes.len() == 2).then(|| codes.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_zone_of_several_countries_is_no_guess() {
        let table = "# comment\nIT,SM,VA\t+4154+01229\tEurope/Rome\nSE\t+5920+01803\tEurope/Stockholm\n";
        assert_eq!(country_in_table(table, "Europe/Stockholm").as_deref(), Some("SE"));
        assert_eq!(country_in_table(table, "Europe/Rome"), None);
        assert_eq!(country_in_table(table, "Europe/Atlantis"), None);
    }

    #[test]
    fn the_locale_everybody_has_says_nothing() {
        let country = |locale: &str| {
            let lookup = |name: &str| (name == "LANG").then(|| locale.to_owned());
            locale_country(&lookup).map(|(country, _)| country)
        };
        assert_eq!(country("de_AT.UTF-8").as_deref(), Some("AT"));
        assert_eq!(country("sr_RS@latin").as_deref(), Some("RS"));
        for locale in ["en_US.UTF-8", "C", "C.UTF-8", "POSIX", "de", "es_419", ""] {
            assert_eq!(country(locale), None, "{locale}");
        }
    }

    #[test]
    fn zone_names_are_cut_out_of_links() {
        assert_eq!(zone_name("/usr/share/zoneinfo/Europe/Berlin").as_deref(), Some("Europe/Berlin"));
        assert_eq!(
            zone_name("/var/db/timezone/zoneinfo/America/Argentina/Salta").as_deref(),
            Some("America/Argentina/Salta")
        );
        assert_eq!(zone_name("UTC"), None);
        assert_eq!(zone_name("/etc/somewhere"), None);
    }
}
