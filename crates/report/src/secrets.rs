//! Values that a report does not show. The record keeps them, because a run
//! that is resumed has to send them again.

use plimsoll_model::{Plan, Workload};

const HIDDEN: &str = "(hidden)";

/// The plan with what looks like a secret hidden.
pub(crate) fn hide(plan: &Plan) -> Plan {
    let mut plan = plan.clone();
    if let Workload::Http(http) = &mut plan.workload {
        http.url = hide_in_url(&http.url);
        for (name, value) in &mut http.headers {
            if is_secret(name) {
                HIDDEN.clone_into(value);
            }
        }
    }
    plan
}

/// Whether a header of this name carries a secret as a rule.
fn is_secret(name: &str) -> bool {
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
        for name in [
            "Authorization",
            "proxy-authorization",
            "Cookie",
            "X-Api-Key",
            "X_API_KEY",
            "apikey",
            "X-Auth-Token",
            "X-Session-Id",
            "x-amz-security-token",
        ] {
            assert!(is_secret(name), "{name}");
        }
        for name in [
            "Accept",
            "Content-Type",
            "X-Request-Id",
            "User-Agent",
            "Cache-Control",
        ] {
            assert!(!is_secret(name), "{name}");
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
