//! The command line of a load generator with its values, for sh.

use std::ffi::OsString;

/// A name in braces, its variable, and its value: a text that sh must not read as code.
pub(super) struct Variable {
    pub(super) placeholder: &'static str,
    pub(super) name: &'static str,
    pub(super) value: OsString,
}

/// Where in a line of sh a text stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Quoting {
    Bare,
    Single,
    Double,
}

/// The line with a reference to its variable for each placeholder. What sh has expanded from a
/// variable it does not read as code, whatever the quotes around it are.
pub(super) fn with_variables(line: &str, variables: &[Variable]) -> String {
    let (mut out, mut rest, mut place) = (String::new(), line, Place::default());
    while let Some(next) = rest.chars().next() {
        let found = variables.iter().find(|v| rest.starts_with(v.placeholder));
        let taken = match found {
            Some(variable) => {
                out += &reference(variable.name, place.quoting());
                variable.placeholder.len()
            }
            None => {
                let escapes = next == '\\' && place.quoting() != Quoting::Single;
                let escaped = rest.chars().nth(1).filter(|_| escapes);
                let taken = next.len_utf8() + escaped.map_or(0, char::len_utf8);
                place.passes(next, out.ends_with('$'));
                out += &rest[..taken];
                taken
            }
        };
        rest = &rest[taken..];
    }
    out
}

/// The quotes and parentheses that are open: within those of `$(` quotes begin anew.
#[derive(Debug, Default)]
struct Place(Vec<Quoting>);

impl Place {
    fn quoting(&self) -> Quoting {
        self.0.last().copied().unwrap_or(Quoting::Bare)
    }

    fn passes(&mut self, next: char, is_behind_dollar: bool) {
        match (self.quoting(), next) {
            (Quoting::Bare, '\'') => self.0.push(Quoting::Single),
            (Quoting::Bare, '"') => self.0.push(Quoting::Double),
            (Quoting::Bare, '(') => self.0.push(Quoting::Bare),
            (Quoting::Double, '(') if is_behind_dollar => self.0.push(Quoting::Bare),
            (Quoting::Single, '\'') | (Quoting::Double, '"') | (Quoting::Bare, ')') => {
                self.0.pop();
            }
            _ => {}
        }
    }
}

fn reference(name: &str, quoting: Quoting) -> String {
    match quoting {
        Quoting::Bare => format!("\"${{{name}}}\""),
        Quoting::Double => format!("${{{name}}}"),
        Quoting::Single => format!("'\"${{{name}}}\"'"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::process::Command;

    fn printed(line: &str, value: &str) -> String {
        let variables = [Variable {
            placeholder: "{url}",
            name: "PLIMSOLL_URL",
            value: value.into(),
        }];
        let mut sh = Command::new("sh");
        sh.args(["-c", &with_variables(line, &variables)]);
        sh.env("PLIMSOLL_URL", value);
        String::from_utf8(sh.output().unwrap().stdout).unwrap()
    }

    #[test]
    fn a_value_is_one_word_as_it_is_within_any_quotes() {
        let value = "a b?c=1&d=$(echo x)`echo y`'\"$HOME;\\\\ * {url}";
        for (line, around) in [
            ("printf %s {url}", ["", ""]),
            ("printf %s '{url}'", ["", ""]),
            ("printf %s \"{url}\"", ["", ""]),
            ("printf %s --to={url}.json", ["--to=", ".json"]),
            ("printf %s 'it'\\''s: {url}!'", ["it's: ", "!"]),
            ("printf %s \"say \\\"{url}\\\"\"", ["say \"", "\""]),
            ("printf %s \\'{url}\\'", ["'", "'"]),
        ] {
            let [before, behind] = around;
            assert_eq!(
                printed(line, value),
                format!("{before}{value}{behind}"),
                "{line}"
            );
        }
    }

    #[test]
    fn a_value_is_no_code_within_a_command_of_a_command() {
        let value = "$(touch code)";
        let line = "printf %s \"$(printf %s \"{url}\" {url} '{url}')\"";
        let three = value.repeat(3).replace(' ', "");
        assert_eq!(printed(line, value).replace(' ', ""), three);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(50))]
        #[test]
        fn any_value_is_one_word(value in "[ -~\n]{0,12}[!-~]") {
            for line in ["printf %s {url}", "printf %s '{url}'", "printf %s \"{url}\""] {
                prop_assert_eq!(printed(line, &value), value.clone());
            }
        }
    }
}
