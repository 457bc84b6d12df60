//! Values that a report does not show.

use plimsoll_model::{Plan, Workload};

pub const HIDDEN: &str = "(hidden)";

/// The plan with what looks like a secret hidden.
pub fn hide(plan: &Plan) -> Plan {
    let mut plan = plan.clone();
    if let Workload::Http(http) = &mut plan.workload {
        http.url = hide_in_url(&http.url);
        for (name, value) in &mut http.headers {
            if is_hidden_header(name) {
                HIDDEN.clone_into(value);
            }
        }
        let omitted = std::mem::take(&mut http.omitted_headers).into_iter();
        http.headers
            .extend(omitted.map(|name| (name, HIDDEN.to_owned())));
    }
    plan
}

/// A command line with what looks like a secret hidden: headers and addresses
/// as above, wherever they stand.
pub(crate) fn hide_in_command(words: &[String]) -> Vec<String> {
    let mut after_header = false;
    let hidden = |word: &String| {
        let given = std::mem::replace(&mut after_header, word == "-H" || word == "--header");
        // `-H 'Name: value'`, `-HName: value`, `--header=Name: value`.
        let attached = ["--header=", "-H"]
            .into_iter()
            .find(|p| word.starts_with(p));
        match (given, attached) {
            (true, _) => hide_in_header(word),
            (false, Some(flag)) => format!("{flag}{}", hide_in_header(&word[flag.len()..])),
            (false, None) => hide_in_url(word),
        }
    };
    words.iter().map(hidden).collect()
}

/// `Authorization: (hidden)`
fn hide_in_header(header: &str) -> String {
    match header.split_once(':') {
        Some((name, _)) if is_hidden_header(name) => format!("{name}: {HIDDEN}"),
        _ => header.to_owned(),
    }
}

/// Whether the value of a header of this name is hidden: it carries a secret as a rule.
pub fn is_hidden_header(name: &str) -> bool {
    const PARTS: [&str; 9] = [
        "auth",
        "cookie",
        "token",
        "secret",
        "password",
        "api-key",
        "apikey",
        "session",
        "credential",
    ];
    let name = name.to_ascii_lowercase().replace('_', "-");
    PARTS.iter().any(|part| name.contains(part))
}

/// `http://user:password@host/` without the password; what stands alone
/// before the `@` is hidden too, because tokens are given like that.
fn hide_in_url(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else {
        return url.to_owned();
    };
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at(end);
    match authority.rsplit_once('@') {
        None => url.to_owned(),
        Some((who, host)) => match who.split_once(':') {
            Some((user, _)) => format!("{scheme}://{user}:{HIDDEN}@{host}{path}"),
            None => format!("{scheme}://{HIDDEN}@{host}{path}"),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_that_carry_secrets_are_known_by_name() {
        let hidden = "Authorization proxy-authorization Cookie X-Api-Key X_API_KEY apikey \
                      X-Auth-Token X-Session-Id x-amz-security-token";
        for name in hidden.split(' ') {
            assert!(is_hidden_header(name), "{name}");
        }
        let shown = "Accept Content-Type X-Request-Id User-Agent Cache-Control";
        for name in shown.split(' ') {
            assert!(!is_hidden_header(name), "{name}");
        }
    }

    #[test]
    fn a_command_line_shows_no_secret() {
        let shown = |words: &str| {
            let words: Vec<String> = words.split('|').map(str::to_owned).collect();
            hide_in_command(&words).join("|")
        };
        for (given, expected) in [
            ("-H|Authorization: Basic c2Vj", "-H|Authorization: (hidden)"),
            ("-HCookie: secret", "-HCookie: (hidden)"),
            ("--header=X-Api-Key:secret", "--header=X-Api-Key: (hidden)"),
            ("-H|Accept: text/html|x: y", "-H|Accept: text/html|x: y"),
            ("sweep|http://u:secret@h/", "sweep|http://u:(hidden)@h/"),
            (
                "--node-metrics=http://t@h/m",
                "--node-metrics=http://(hidden)@h/m",
            ),
        ] {
            assert_eq!(shown(given), expected);
        }
    }

    #[test]
    fn a_password_in_an_address_is_hidden_and_nothing_else() {
        for (given, shown) in [
            ("http://u:p@h:1/a@b?c", "http://u:(hidden)@h:1/a@b?c"),
            ("http://u:p@ss@h/", "http://u:(hidden)@h/"),
            ("https://token@h", "https://(hidden)@h"),
            ("http://h/a:b@c", "http://h/a:b@c"),
            ("no address", "no address"),
        ] {
            assert_eq!(hide_in_url(given), shown);
        }
    }
}
