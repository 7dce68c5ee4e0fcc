//! XML as people write it. Other readers of robot files let pass what the standard forbids, and so files have it:
//! lines or a mark of the byte order before the declaration, two hyphens in a comment, prefixes that are declared
//! nowhere, a bare `&`, no space between attributes, an end of an element that was ended before. Lines keep their
//! numbers.

use super::xml::tag_end;

/// The same text as the standard wants it.
pub(super) fn mend(text: &str) -> String {
    let mut rest = text.trim_start_matches('\u{feff}');
    let mut out = String::with_capacity(rest.len());
    let mut depth = 0_usize;
    while let Some(at) = rest.find('<') {
        push_text(&rest[..at], &mut out);
        rest = &rest[at..];
        let end = |close: &str| rest.find(close).map_or(rest.len(), |at| at + close.len());
        let length;
        if rest.starts_with("<!--") {
            length = end("-->").max(4);
            push_comment(&rest[..length], &mut out);
        } else if rest.starts_with("<?xml ")
            && out.trim().is_empty()
            && !(out.is_empty() && rest[6..].trim_start().starts_with("version"))
        {
            // A declaration after the first line, or without a version, says nothing that is not known.
            length = end("?>");
            push_lines(&rest[..length], &mut out);
        } else if rest.starts_with("<![CDATA[") || rest.starts_with("<?") {
            length = end(if rest.starts_with("<?") { "?>" } else { "]]>" });
            out.push_str(&rest[..length]);
        } else if rest.starts_with("<!") {
            length = 2;
            out.push_str("<!");
        } else {
            let whole;
            (length, whole) = tag_end(rest);
            let tag = &rest[..length];
            let ends = tag.starts_with("</");
            match ends && depth == 0 {
                true => push_lines(tag, &mut out),
                false => push_tag(tag, text, &mut out),
            }
            depth = match (ends, whole) {
                (true, _) => depth.saturating_sub(1),
                (false, true) => depth,
                (false, false) => depth + 1,
            };
        }
        rest = &rest[length..];
    }
    push_text(rest, &mut out);
    out
}

/// The ends of lines alone.
fn push_lines(text: &str, out: &mut String) {
    out.extend(text.chars().filter(|c| *c == '\n'));
}

fn push_comment(comment: &str, out: &mut String) {
    let body = comment.strip_prefix("<!--").unwrap_or(comment);
    let body = body.strip_suffix("-->").filter(|body| {
        // `<!--->` has no end, and is refused where it stands.
        body.contains("--") || body.ends_with('-')
    });
    let Some(body) = body else {
        return out.push_str(comment);
    };
    out.push_str("<!--");
    push_lines(body, out);
    out.push_str("-->");
}

/// Text or the value of an attribute, with `&amp;` for an `&` that begins no entity.
fn push_text(text: &str, out: &mut String) {
    const ENTITIES: [&str; 6] = ["amp;", "lt;", "gt;", "quot;", "apos;", "#"];
    let mut parts = text.split('&');
    out.push_str(parts.next().unwrap_or_default());
    for part in parts {
        let known = ENTITIES.iter().any(|entity| part.starts_with(entity));
        out.push_str(if known { "&" } else { "&amp;" });
        out.push_str(part);
    }
}

/// A tag, with `_` for the colon behind a prefix that is not declared, and a space between attributes.
fn push_tag(tag: &str, whole: &str, out: &mut String) {
    let (mut quote, mut from) = (None, 0);
    for (i, c) in tag.char_indices() {
        match quote {
            Some(open) if c == open => {
                quote = None;
                if tag[i + 1..].starts_with(|c: char| c.is_alphabetic()) {
                    push_text(&tag[from..=i], out);
                    out.push(' ');
                    from = i + 1;
                }
            }
            Some(_) => {}
            None if c == '"' || c == '\'' => quote = Some(c),
            None if c == ':' => {
                let is_name = |c: char| c.is_alphanumeric() || "_-.".contains(c);
                let start = tag[..i].trim_end_matches(is_name).len();
                let prefix = &tag[start..i];
                let known = ["xml", "xmlns"].contains(&prefix)
                    || whole.contains(&format!("xmlns:{prefix}"));
                if !known {
                    push_text(&tag[from..i], out);
                    out.push('_');
                    from = i + 1;
                }
            }
            None => {}
        }
    }
    push_text(&tag[from..], out);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_standard_allows_is_left_as_it_is() {
        let text = "<?xml version=\"1.0\"?>\n<!-- a - b --><a x='1 &lt; 2' xmlns:p=\"u\"><p:b y=\"a:b\"/><![CDATA[--&]]>&#65;</a>";
        assert_eq!(mend(text), text);
    }

    #[test]
    fn what_other_readers_let_pass_is_mended_and_lines_stay() {
        let text = "\u{feff}\n<?xml version=\"1.0\"?>\n<!-- -- \n--><a b='x & y'c='1'><s:c p:q='1'/></a>\n</a>";
        let mended = mend(text);
        assert_eq!(
            mended,
            "\n\n<!--\n--><a b='x &amp; y' c='1'><s_c p_q='1'/></a>\n"
        );
        assert_eq!(mended.matches('\n').count(), text.matches('\n').count());
        assert!(roxmltree::Document::parse(&mended).is_ok());
    }

    #[test]
    fn any_text_comes_to_an_end() {
        assert_eq!(mend("<?xml verison=\"1.0\"?>\n<a/>"), "\n<a/>");
        for text in [
            "",
            "<",
            "<!--",
            "<!-->",
            "<!--->",
            "<?xml ",
            " <?xml ",
            "<![CDATA[",
            "<a b='",
            "&",
            "<:",
            "<é:ö>",
            "<a \u{f04}b:c='1'>",
            "</a></a>",
        ] {
            mend(text);
        }
    }
}
