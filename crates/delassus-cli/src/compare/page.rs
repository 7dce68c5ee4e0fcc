//! The page of `--html`: one file with style, script and the report inside, so that it opens without a network.

const PAGE: &str = include_str!("page.html");
const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

/// The page around a report.
pub(super) fn html(json: &str) -> String {
    // Inside a script element only `<` can end or nest anything; JSON may write it as an escape.
    let data = json.trim_end().replace('<', "\\u003c");
    // The report goes in last: nothing in it can then be taken for a place to fill.
    let page = PAGE.replace("/*STYLE*/", STYLE);
    let page = page.replace("/*SCRIPT*/", SCRIPT);
    page.replacen("/*REPORT*/", &data, 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_asks_for_nothing_from_outside() {
        let page = html("{}");
        for outside in [
            "http:", "https:", "src=", "@import", "url(", "fetch(", "import(",
        ] {
            // The name of the SVG name space is no address that anybody visits.
            let page = page.replace("http://www.w3.org/2000/svg", "");
            assert!(!page.contains(outside), "{outside}");
        }
        for place in ["/*STYLE*/", "/*SCRIPT*/", "/*REPORT*/"] {
            assert!(!page.contains(place), "{place}");
        }
    }

    #[test]
    fn names_of_works_cannot_end_the_script() {
        let page = html(r#"{"work":"</script><b>"}"#);
        assert!(!page.contains("</script><b>"));
        assert!(page.contains(r"\u003c/script>"));
    }
}
