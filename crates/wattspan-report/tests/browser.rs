//! The report in a real browser: it loads without a complaint, asks nobody for anything, shows the files' numbers, sorts,
//! and fits phones, dark rooms and paper.

mod common;

use std::path::Path;

use common::devtools::Browser;
use common::{device_energy, expected, fixture, near};
use serde_json::{Value, json};
use wattspan_report::Report;

/// One browser for all: starting it takes longer than the rest.
#[test]
fn the_page_is_sound_in_a_browser() {
    let base = tempfile::tempdir().unwrap();
    let folders = fixture::write(base.path());
    let path = base.path().join("report.html");
    let report = Report::open(&folders).unwrap();
    report.html(std::io::BufWriter::new(std::fs::File::create(&path).unwrap())).unwrap();
    let url = format!("file://{}", path.display());

    let mut browser = Browser::start();
    browser.resize(1_200, false);
    browser.media("", "light");
    browser.open(&url);

    pictures_are_drawn(&mut browser);
    for (index, folder) in folders.iter().enumerate() {
        numbers_are_those_of_the_files(&mut browser, index, folder);
    }
    it_sorts_by_mouse_and_keyboard(&mut browser);
    it_is_for_everybody(&mut browser);
    it_fits(&mut browser);
    it_has_a_dark_form(&mut browser);
    it_can_be_printed(&mut browser);
    the_policy_holds(&mut browser, &url);
}

fn quiet(browser: &mut Browser, url: &str) {
    assert_eq!(browser.complaints(), Vec::<String>::new());
    assert_eq!(browser.requests(), [url.to_owned()]);
}

fn pictures_are_drawn(browser: &mut Browser) {
    // Everything drawn has a place, and paths have points.
    let bad = browser.value(
        "[...document.querySelectorAll('svg')].filter(svg => {
            const box = svg.getBoundingClientRect();
            const drawn = [...svg.querySelectorAll('path, rect')].filter(e => !e.closest('defs'));
            const sized = drawn.filter(e => { const b = e.getBBox(); return b.width > 0 || b.height > 0; });
            const paths = drawn.filter(e => e.tagName === 'path');
            return !(box.width > 0 && box.height > 0 && sized.length > 0
                && paths.every(p => p.getTotalLength() > 0 && !/NaN|inf/i.test(p.getAttribute('d'))));
        }).map(svg => svg.outerHTML.slice(0, 300))",
    );
    assert_eq!(bad, json!([]));
    let count = browser.value("document.querySelectorAll('svg').length").as_u64().unwrap();
    assert!(count > 30, "{count}");
    // The line of the power has a point for each stretch, and each inference its mark.
    let points =
        browser.value("document.querySelector('#run-0 .wide .mean').getAttribute('d').match(/[ML]/g).length");
    assert!(points.as_u64().unwrap() > 100, "{points}");
    let marks = browser
        .value("[0, 1].map(run => document.querySelectorAll(`#run-${run} rect.lane:not(.swatch *)`).length)");
    assert_eq!(marks, json!([60, 34]));
    // The pause of the second run is cut out of its axis.
    assert_eq!(browser.value("document.querySelectorAll('#run-1 .wide .cut').length"), 1);
}

fn numbers_are_those_of_the_files(browser: &mut Browser, index: usize, folder: &Path) {
    let shown = browser.value(&format!(
        "Object.fromEntries([...document.querySelectorAll('#run-{index} table[data-table=summary] tbody tr')]
            .map(row => [row.dataset.row, row.querySelector('data')?.value ?? null]))"
    ));
    let number = |value: &Value| value.as_str().and_then(|text| text.parse::<f64>().ok());
    for (name, expected) in expected(folder) {
        near(number(&shown[name]).unwrap_or(f64::NAN), expected, name);
    }
    let cards = browser.value(&format!(
        "[...document.querySelectorAll('#run-{index} .cards [data-card]')]
            .map(card => [card.dataset.card, card.querySelector('data').value])"
    ));
    let expected = expected(folder);
    for card in cards.as_array().unwrap() {
        let name = card[0].as_str().unwrap();
        let (_, wanted) = expected.iter().find(|(known, _)| *known == name).unwrap();
        near(number(&card[1]).unwrap(), *wanted, name);
    }
    // A device's joules by state, and the sum that leaves its part out.
    for (row, device) in
        [("GPU-0c1f", Some("GPU-0c1f")), ("cpu:package-0", Some("cpu:package-0")), ("total", None)]
    {
        for column in ["energy_inference_j", "energy_idle_j", "energy_other_j", "energy_j"] {
            let cell = format!(
                "document.querySelector('#run-{index} table[data-table=energy] tr[data-row=\"{row}\"] [data-column={column}] data').value"
            );
            near(number(&browser.value(&cell)).unwrap(), device_energy(folder, column, device), column);
        }
    }
    let denied = format!(
        "document.querySelector('#run-{index} table[data-table=energy] tr[data-row=\"dram:0\"] [data-column=energy_j]').textContent"
    );
    let denied = browser.value(&denied);
    assert!(denied.as_str().unwrap().contains("–not known: denied: let the user read"), "{denied}");
    // Case by case.
    let cases = browser.value(&format!(
        "[...document.querySelectorAll('#run-{index} table[data-table=cases] tbody tr')].map(row => [row.dataset.row,
            row.querySelector('[data-column=energy_j] data')?.value ?? null,
            row.querySelector('[data-column=energy_j] data')?.dataset.plusMinus ?? null,
            row.querySelector('[data-column=success] .verdict').textContent])"
    ));
    let results = common::json(folder, "results.json");
    let results = results.as_array().unwrap();
    assert_eq!(cases.as_array().unwrap().len(), results.len());
    for (case, row) in cases.as_array().unwrap().iter().zip(results) {
        assert_eq!(case[0], format!("{}#1", row["test_case_uid"].as_str().unwrap()));
        assert_eq!(number(&case[1]), row["energy_j"].as_f64());
        assert_eq!(number(&case[2]), row["energy_uncertainty_j"].as_f64());
        let verdict = if row["success"] == true { "✓ pass" } else { "✗ fail" };
        assert_eq!(case[3], verdict);
    }
}

fn it_sorts_by_mouse_and_keyboard(browser: &mut Browser) {
    let runs = "[...document.querySelectorAll('#leaderboard tbody tr')].map(row => row.dataset.row)";
    let state =
        "[...document.querySelectorAll('#leaderboard thead th')].filter(head => head.ariaSort !== 'none')
        .map(head => [head.dataset.column, head.ariaSort])";
    assert_eq!(browser.value(runs), json!(["tools-8b-q4", "tools-3b-q8"]));
    browser.click("#leaderboard th[data-column=joules_per_output_token] button");
    assert_eq!(browser.value(runs), json!(["tools-3b-q8", "tools-8b-q4"]));
    assert_eq!(browser.value(state), json!([["joules_per_output_token", "ascending"]]));
    let said = browser.value("document.getElementById('said').textContent");
    assert_eq!(said, "Sorted by Per output token, rising");
    // By keyboard: the button has the focus and stays there.
    browser.press("Enter", 13, "\r");
    assert_eq!(browser.value(runs), json!(["tools-8b-q4", "tools-3b-q8"]));
    assert_eq!(browser.value(state), json!([["joules_per_output_token", "descending"]]));
    browser.press("Tab", 9, "");
    let focused = browser.value("document.activeElement.closest('th').dataset.column");
    assert_eq!(focused, "tokens_per_second");
    browser.press(" ", 32, " ");
    assert_eq!(browser.value(state), json!([["tokens_per_second", "ascending"]]));
    assert_eq!(browser.value(runs), json!(["tools-8b-q4", "tools-3b-q8"]));
    // What is not known is last, whichever way.
    for _ in 0..2 {
        browser.click("#run-0-cases th[data-column=energy_j] button");
        let last = browser.value(
            "[...document.querySelectorAll('#run-0-cases tbody tr')].slice(-3)
                .map(row => row.querySelector('[data-column=energy_j] .absent') !== null)",
        );
        assert_eq!(last, json!([true, true, true]));
    }
}

fn it_is_for_everybody(browser: &mut Browser) {
    // Headings in steps of one, from the first to the last.
    let levels =
        browser.value("[...document.querySelectorAll('h1, h2, h3, h4')].map(h => Number(h.tagName[1]))");
    let levels: Vec<i64> = levels.as_array().unwrap().iter().filter_map(Value::as_i64).collect();
    assert_eq!(levels.iter().filter(|level| **level == 1).count(), 1);
    assert!(levels.windows(2).all(|pair| pair[1] <= pair[0] + 1), "{levels:?}");
    // Tables have captions and heads, pictures names, and ids are there once.
    let nameless = browser.value(
        "[...document.querySelectorAll('table')].filter(t => !t.caption?.textContent.trim()
            || (!t.matches('.bars') && !t.querySelector('thead th[scope=col]')) || !t.querySelector('th[scope=row]')).length
        + [...document.querySelectorAll('svg')].filter(s => s.ariaHidden !== 'true' && !(s.getAttribute('role') === 'img'
            && (s.ariaLabel || document.getElementById(s.getAttribute('aria-labelledby'))?.textContent.trim()))).length
        + [...document.querySelectorAll('[id]')].filter((e, i, all) => all.findIndex(o => o.id === e.id) !== i).length
        + [...document.querySelectorAll('[aria-labelledby], [aria-describedby]')].filter(e =>
            !document.getElementById(e.getAttribute('aria-labelledby') ?? e.getAttribute('aria-describedby'))).length",
    );
    assert_eq!(nameless, 0);
    assert_eq!(browser.value("document.documentElement.lang"), "en");
    for scheme in ["light", "dark"] {
        browser.media("", scheme);
        let low = browser.value(CONTRAST);
        assert_eq!(low, json!([]), "{scheme}");
    }
}

/// Texts with less contrast than WCAG 2.2 AA asks for (4.5 to 1), on the background that is behind them.
const CONTRAST: &str = "(() => {
    const parts = color => (color.match(/[\\d.]+/g) ?? []).map(Number);
    const light = color => parts(color).slice(0, 3).map(c => c / 255)
        .map(c => c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4)
        .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
    const behind = e => {
        for (let at = e; at; at = at.parentElement) {
            const color = getComputedStyle(at).backgroundColor;
            if (parts(color)[3] !== 0) return color;
        }
        return 'rgb(255, 255, 255)';
    };
    const low = new Set();
    for (const e of document.querySelectorAll('body *')) {
        if (![...e.childNodes].some(n => n.nodeType === 3 && n.data.trim()) || e.closest('script, style, desc, title')) continue;
        const style = getComputedStyle(e);
        const [a, b] = [light(e.closest('svg') ? style.fill : style.color), light(behind(e))];
        const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
        if (ratio < 4.5) low.add(`${e.tagName}.${e.className.baseVal ?? e.className} ${ratio.toFixed(2)}`);
    }
    return [...low];
})()";

fn it_fits(browser: &mut Browser) {
    browser.media("", "light");
    for (width, mobile) in [(360, true), (768, false), (1_200, false)] {
        browser.resize(width, mobile);
        let wide = browser.value(
            "[document.documentElement.scrollWidth, Math.round(Math.max(...[...document.body.querySelectorAll('h1, h2, h3, p, svg, .scroll, .cards, .bars')]
                .map(e => e.getBoundingClientRect().right)))]",
        );
        assert!(wide[0].as_u64().unwrap() <= u64::from(width), "{wide} at {width}");
        assert!(wide[1].as_u64().unwrap() <= u64::from(width), "{wide} at {width}");
        // Text in pictures is as large on a phone as on a desk.
        let least = browser.value(
            "Math.min(...[...document.querySelectorAll('svg text')].filter(t => getComputedStyle(t).display !== 'none').map(t => {
                const svg = t.ownerSVGElement;
                return parseFloat(getComputedStyle(t).fontSize) * svg.getBoundingClientRect().width / svg.viewBox.baseVal.width;
            }))",
        );
        assert!(least.as_f64().unwrap() >= 9.5, "{least} at {width}");
    }
}

fn it_has_a_dark_form(browser: &mut Browser) {
    let paper = "getComputedStyle(document.body).backgroundColor";
    browser.media("", "light");
    assert_eq!(browser.value(paper), "rgb(255, 255, 255)");
    let line = "getComputedStyle(document.querySelector('.mean')).stroke";
    let light = browser.value(line);
    browser.media("", "dark");
    assert_eq!(browser.value(paper), "rgb(18, 23, 29)");
    assert_ne!(browser.value(line), light);
}

fn it_can_be_printed(browser: &mut Browser) {
    // Who reads in the dark prints on white.
    browser.media("print", "dark");
    assert_eq!(browser.value("getComputedStyle(document.body).backgroundColor"), "rgb(255, 255, 255)");
    assert_eq!(browser.value("getComputedStyle(document.querySelector('.scroll')).overflowX"), "visible");
    assert_eq!(browser.value("getComputedStyle(document.querySelector('nav')).display"), "none");
    // What an A4 sheet has between its margins: nothing is cut off, for paper does not scroll.
    browser.resize(718, false);
    assert_eq!(browser.value("document.documentElement.scrollWidth"), 718);
    let pdf = browser.call("Page.printToPDF", &json!({ "printBackground": true }));
    // `%PDF` in base64.
    assert!(pdf["data"].as_str().unwrap().starts_with("JVBERi"));
}

/// Nothing was asked for, and nothing could be: a script that got in could not load or send anything.
fn the_policy_holds(browser: &mut Browser, url: &str) {
    quiet(browser, url);
    let refused = browser.value(
        "new Promise(done => {
            const refused = new Set();
            document.addEventListener('securitypolicyviolation', event => {
                refused.add(event.effectiveDirective);
                if (refused.size === 4) done([...refused].sort());
            });
            const add = (name, set) => document.body.append(Object.assign(document.createElement(name), set));
            add('img', { src: 'http://127.0.0.1:9/x.png' });
            add('script', { textContent: 'window.got = 1' });
            add('style', { textContent: 'body { color: red }' });
            fetch('http://127.0.0.1:9/').catch(() => {});
        })",
    );
    assert_eq!(refused, json!(["connect-src", "img-src", "script-src-elem", "style-src-elem"]));
    assert_eq!(browser.value("typeof window.got"), "undefined");
}
