//! The words of DOT, with their lines.

use super::DotError;
use std::fmt;
use std::iter::Peekable;
use std::str::Chars;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Token {
    /// A name or a number; also a keyword, in any case.
    Name(String),
    Quoted(String),
    Arrow,
    /// One of `{ } [ ] = ; , :`.
    Sign(char),
    End,
}

impl fmt::Display for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Token::Name(text) => write!(f, "`{text}`"),
            Token::Quoted(text) => write!(f, "{text:?}"),
            Token::Arrow => f.write_str("`->`"),
            Token::Sign(sign) => write!(f, "`{sign}`"),
            Token::End => f.write_str("the end of the file"),
        }
    }
}

pub(super) struct Tokens<'a> {
    chars: Peekable<Chars<'a>>,
    line: u32,
}

impl<'a> Tokens<'a> {
    pub(super) fn of(text: &'a str) -> Tokens<'a> {
        Tokens {
            chars: text.chars().peekable(),
            line: 1,
        }
    }

    fn take(&mut self) -> Option<char> {
        let next = self.chars.next();
        self.line += u32::from(next == Some('\n'));
        next
    }

    /// The next token and its line.
    pub(super) fn next(&mut self) -> Result<(u32, Token), DotError> {
        loop {
            let line = self.line;
            let Some(char) = self.take() else {
                return Ok((line, Token::End));
            };
            let token = match char {
                '#' => {
                    self.skip_line();
                    continue;
                }
                '/' => {
                    self.skip_comment(line)?;
                    continue;
                }
                '{' | '}' | '[' | ']' | '=' | ';' | ',' | ':' => Token::Sign(char),
                '"' => Token::Quoted(self.quoted(line)?),
                '<' => return Err(DotError::Html { line }),
                '-' => match self.chars.peek() {
                    Some('>') => {
                        self.take();
                        Token::Arrow
                    }
                    Some('-') => return Err(DotError::Undirected { line }),
                    Some(next) if next.is_ascii_digit() || *next == '.' => {
                        Token::Name(self.name(char))
                    }
                    _ => return Err(DotError::Character { line, found: '-' }),
                },
                _ if is_of_name(char) => Token::Name(self.name(char)),
                _ if char.is_whitespace() || char == '\u{feff}' => continue,
                found => return Err(DotError::Character { line, found }),
            };
            return Ok((line, token));
        }
    }

    fn skip_line(&mut self) {
        while self.take().is_some_and(|c| c != '\n') {}
    }

    /// After a slash.
    fn skip_comment(&mut self, line: u32) -> Result<(), DotError> {
        match self.take() {
            Some('/') => {
                self.skip_line();
                Ok(())
            }
            Some('*') => loop {
                match self.take() {
                    Some('*') if self.chars.next_if_eq(&'/').is_some() => return Ok(()),
                    Some(_) => {}
                    None => {
                        let what = "comment";
                        return Err(DotError::Open { line, what });
                    }
                }
            },
            _ => Err(DotError::Character { line, found: '/' }),
        }
    }

    /// After the opening quote. A backslash keeps a quote in the text and joins lines.
    fn quoted(&mut self, line: u32) -> Result<String, DotError> {
        let mut text = String::new();
        loop {
            match self.take() {
                Some('"') => return Ok(text),
                Some('\\') => match self.take() {
                    Some('"') => text.push('"'),
                    Some('\n') => {}
                    Some(other) => text.extend(['\\', other]),
                    None => {}
                },
                Some(char) => text.push(char),
                None => {
                    let what = "quoted text";
                    return Err(DotError::Open { line, what });
                }
            }
        }
    }

    fn name(&mut self, first: char) -> String {
        let mut name = String::from(first);
        while let Some(char) = self.chars.next_if(|c| is_of_name(*c)) {
            name.push(char);
        }
        name
    }
}

fn is_of_name(char: char) -> bool {
    char.is_alphanumeric() || char == '_' || char == '.'
}
