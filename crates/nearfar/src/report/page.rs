//! Putting the page together from its parts, which are in `page/`.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest, Sha256};

const TEXT: &str = include_str!("page/page.html");
const STYLE: &str = include_str!("page/style.css");
/// The program, in reading order: one module, without imports.
const PROGRAM: [&str; 9] = [
    include_str!("page/data.js"),
    include_str!("page/graph.js"),
    include_str!("page/community.js"),
    include_str!("page/colour.js"),
    include_str!("page/map.js"),
    include_str!("page/chart.js"),
    include_str!("page/near.js"),
    include_str!("page/numbers.js"),
    include_str!("page/page.js"),
];

/// The page with its data. The policy lets no program and no style run but these two, and nothing be
/// fetched from anywhere.
pub(super) fn page(data: &[u8]) -> String {
    let program = PROGRAM.join("\n");
    let hash = |text: &str| STANDARD.encode(Sha256::digest(text.as_bytes()));
    let policy = format!(
        "default-src 'none'; script-src 'sha256-{}'; style-src 'sha256-{}'; base-uri 'none'; \
         form-action 'none'",
        hash(&program),
        hash(STYLE)
    );
    let data = STANDARD.encode(data);
    let parts = [
        ("{{policy}}", policy.as_str()),
        ("{{style}}", STYLE),
        ("{{program}}", &program),
        ("{{data}}", &data),
    ];
    let mut page = String::with_capacity(TEXT.len() + STYLE.len() + program.len() + data.len());
    let mut rest = TEXT;
    while let Some((at, (mark, part))) =
        parts.iter().filter_map(|part| Some((rest.find(part.0)?, part))).min_by_key(|found| found.0)
    {
        page.push_str(&rest[..at]);
        page.push_str(part);
        rest = &rest[at + mark.len()..];
    }
    page + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_is_complete_and_fetches_nothing() {
        let page = page(b"data");
        assert!(!page.contains("{{"), "a part is missing");
        assert!(page.contains(&STANDARD.encode(b"data")));
        let outside = page.replace("http://www.w3.org/2000/svg", "");
        for mark in ["http:", "https:", "@import", "url(", "innerHTML", "eval(", "insertAdjacent"] {
            assert!(!outside.contains(mark), "{mark}");
        }
        // What ends a script in the middle would end ours.
        assert_eq!(page.matches("</script").count(), 2);
    }
}
