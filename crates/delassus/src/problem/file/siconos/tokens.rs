//! Tokens of a text file with the line and column of each, and the typed reads built on them.

use super::super::error::{FileError, Place, shortened};

/// One run of characters without white space.
#[derive(Clone, Copy, Debug)]
pub(super) struct Token<'a> {
    pub(super) text: &'a str,
    line: usize,
    column: usize,
}

impl Token<'_> {
    pub(super) fn line(&self) -> usize {
        self.line
    }

    pub(super) fn place(&self) -> Place {
        Place::Text {
            line: self.line,
            column: self.column,
        }
    }

    pub(super) fn unexpected(&self, expected: impl Into<String>) -> FileError {
        FileError::Unexpected {
            place: self.place(),
            found: shortened(self.text),
            expected: expected.into(),
        }
    }
}

/// Reads a text from front to back. A clone looks ahead without moving the original.
#[derive(Clone, Debug)]
pub(super) struct Tokens<'a> {
    rest: &'a str,
    line: usize,
    column: usize,
}

impl<'a> Tokens<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        // A byte-order mark is not white space, yet editors put it before the first number.
        Self {
            rest: text.strip_prefix('\u{feff}').unwrap_or(text),
            line: 1,
            column: 1,
        }
    }

    /// The next token, or `None` at the end.
    pub(super) fn next(&mut self) -> Option<Token<'a>> {
        self.skip_space();
        if self.rest.is_empty() {
            return None;
        }
        let end = self
            .rest
            .find(char::is_whitespace)
            .unwrap_or(self.rest.len());
        let (text, rest) = self.rest.split_at(end);
        let token = Token {
            text,
            line: self.line,
            column: self.column,
        };
        self.column += text.chars().count();
        self.rest = rest;
        Some(token)
    }

    pub(super) fn skip_line(&mut self) {
        self.rest = self.rest.find('\n').map_or("", |end| &self.rest[end..]);
    }

    /// Where the next token stands, or the end of the text.
    pub(super) fn place(&self) -> Place {
        let mut ahead = self.clone();
        ahead.skip_space();
        Place::Text {
            line: ahead.line,
            column: ahead.column,
        }
    }

    /// The line of the last token read.
    pub(super) fn line(&self) -> usize {
        self.line
    }

    /// Bytes not yet read: how far one reading of a text came before it failed.
    pub(super) fn remaining(&self) -> usize {
        self.rest.len()
    }

    /// The next token, which `expected` describes.
    pub(super) fn take(&mut self, expected: &str) -> Result<Token<'a>, FileError> {
        self.next().ok_or_else(|| FileError::Ended {
            place: self.place(),
            expected: expected.into(),
        })
    }

    /// A token that must read exactly `word`.
    pub(super) fn word(&mut self, word: &str) -> Result<(), FileError> {
        let token = self.take(&format!("\"{word}\""))?;
        if token.text == word {
            Ok(())
        } else {
            Err(token.unexpected(format!("\"{word}\"")))
        }
    }

    /// A non-negative integer and where it stands.
    pub(super) fn size(&mut self, expected: &str) -> Result<(usize, Place), FileError> {
        let token = self.take(expected)?;
        let value = token
            .text
            .parse()
            .map_err(|_| token.unexpected(whole(expected)))?;
        Ok((value, token.place()))
    }

    /// A non-negative integer below `limit`.
    pub(super) fn index(&mut self, expected: &str, limit: usize) -> Result<usize, FileError> {
        let (value, place) = self.size(expected)?;
        if value < limit {
            return Ok(value);
        }
        Err(FileError::OutOfRange {
            place,
            what: expected.into(),
            found: value.to_string(),
            expected: format!("below {limit}"),
        })
    }

    /// A size that is already known from elsewhere in the file.
    pub(super) fn known(&mut self, what: &str, expected: usize) -> Result<(), FileError> {
        let (found, place) = self.size(what)?;
        if found == expected {
            return Ok(());
        }
        let (found, expected) = (found.to_string(), expected.to_string());
        Err(FileError::Mismatch {
            place,
            what: what.into(),
            found,
            expected,
        })
    }

    /// A finite number.
    pub(super) fn number(&mut self, expected: &str) -> Result<f64, FileError> {
        let token = self.take(expected)?;
        let value: f64 = token.text.parse().map_err(|_| token.unexpected(expected))?;
        if value.is_finite() {
            return Ok(value);
        }
        Err(FileError::NotFinite {
            place: token.place(),
            found: shortened(token.text),
        })
    }

    /// `count` finite numbers.
    pub(super) fn numbers(&mut self, count: usize, what: &str) -> Result<Vec<f64>, FileError> {
        self.make_room(count as u128, what, self.place())?;
        (0..count).map(|_| self.number(what)).collect()
    }

    /// Checks that `count` more tokens can follow, before memory is reserved for them. A token and
    /// the space before the next take at least two bytes.
    pub(super) fn make_room(&self, count: u128, what: &str, place: Place) -> Result<(), FileError> {
        let available = (self.rest.len() as u128).div_ceil(2);
        if count <= available {
            return Ok(());
        }
        Err(FileError::TooLarge {
            place,
            what: what.into(),
            declared: count,
            available,
        })
    }

    fn skip_space(&mut self) {
        let rest = self.rest.trim_start();
        for character in self.rest[..self.rest.len() - rest.len()].chars() {
            if character == '\n' {
                self.line += 1;
                self.column = 1;
            } else {
                self.column += 1;
            }
        }
        self.rest = rest;
    }
}

fn whole(expected: &str) -> String {
    format!("{expected} (a whole number, zero or more)")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_token_knows_its_line_and_column() {
        let mut tokens = Tokens::new("1  -2.5e3\r\n\n\té x");
        let found: Vec<_> = std::iter::from_fn(|| tokens.next())
            .map(|t| (t.text, t.line, t.column))
            .collect();
        assert_eq!(
            found,
            [("1", 1, 1), ("-2.5e3", 1, 4), ("é", 3, 2), ("x", 3, 4)]
        );
        assert!(tokens.next().is_none());
    }

    #[test]
    fn numbers_that_are_not_finite_name_their_place() {
        for text in ["nan", "-inf", "infinity", "1e999"] {
            let error = Tokens::new(&format!("1\n  {text}"))
                .numbers(2, "q")
                .unwrap_err();
            assert_eq!(
                error,
                FileError::NotFinite {
                    place: Place::Text { line: 2, column: 3 },
                    found: text.into()
                }
            );
        }
    }

    #[test]
    fn more_values_than_the_text_can_hold_are_refused_before_they_are_read() {
        let error = Tokens::new("1 2 3").numbers(4, "q").unwrap_err();
        assert!(matches!(
            error,
            FileError::TooLarge {
                declared: 4,
                available: 3,
                ..
            }
        ));
        assert_eq!(
            Tokens::new("1 2 3").numbers(3, "q").unwrap(),
            [1.0, 2.0, 3.0]
        );
    }
}
