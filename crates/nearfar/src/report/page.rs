//! Assembles the page from the files in `page/`.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest, Sha256};

const MARKUP: &str = include_str!("page/page.html");
const STYLE: &str = include_str!("page/style.css");
/// The script, concatenated in this order into one module.
const SCRIPT: [&str; 24] = [
    include_str!("page/dom.js"),
    include_str!("page/data.js"),
    include_str!("page/graph.js"),
    include_str!("page/colour.js"),
    include_str!("page/colouring.js"),
    include_str!("page/view.js"),
    include_str!("page/grid.js"),
    include_str!("page/dots.js"),
    include_str!("page/density.js"),
    include_str!("page/names.js"),
    include_str!("page/pointer.js"),
    include_str!("page/map.js"),
    include_str!("page/sentences.js"),
    include_str!("page/chart.js"),
    include_str!("page/legend.js"),
    include_str!("page/search.js"),
    include_str!("page/node.js"),
    include_str!("page/numbers.js"),
    include_str!("page/training.js"),
    include_str!("page/compare.js"),
    include_str!("page/lasso.js"),
    include_str!("page/download.js"),
    include_str!("page/link.js"),
    include_str!("page/page.js"),
];

/// The page with its data. The policy allows only this script and this style, and no requests.
pub(super) fn page(data: &[u8]) -> String {
    let script = SCRIPT.join("\n");
    let hash = |text: &str| STANDARD.encode(Sha256::digest(text.as_bytes()));
    let policy = format!(
        "default-src 'none'; script-src 'sha256-{}'; style-src 'sha256-{}'; base-uri 'none'; \
         form-action 'none'",
        hash(&script),
        hash(STYLE)
    );
    let data = STANDARD.encode(data);
    let replacements = [
        ("{{policy}}", policy.as_str()),
        ("{{style}}", STYLE),
        ("{{script}}", &script),
        ("{{data}}", &data),
    ];
    let mut page = String::with_capacity(MARKUP.len() + STYLE.len() + script.len() + data.len());
    let mut rest = MARKUP;
    while let Some((at, (placeholder, text))) = replacements
        .iter()
        .filter_map(|replacement| Some((rest.find(replacement.0)?, replacement)))
        .min_by_key(|found| found.0)
    {
        page.push_str(&rest[..at]);
        page.push_str(text);
        rest = &rest[at + placeholder.len()..];
    }
    page + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_is_complete_and_fetches_nothing() {
        let page = page(b"data");
        assert!(!page.contains("{{"), "a placeholder is left");
        assert!(page.contains(&STANDARD.encode(b"data")));
        let outside = page.replace("http://www.w3.org/2000/svg", "");
        for forbidden in
            ["http:", "https:", "@import", "url(", "innerHTML", "eval(", "insertAdjacent"]
        {
            assert!(!outside.contains(forbidden), "{forbidden}");
        }
        // Data or script with a closing tag would end the element early.
        assert_eq!(page.matches("</script").count(), 2);
    }
}
