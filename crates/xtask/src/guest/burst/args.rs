//! What is asked of `cargo xtask guest burst`.

use super::service::Service;
use crate::args::value;
use crate::error::XtaskError;
use std::path::PathBuf;

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct BurstArgs {
    /// Short phases.
    pub(crate) quick: bool,
    /// Empty means all.
    pub(crate) only: Vec<Service>,
    /// Where records, time lines and the picture go; `None` means target/guest/burst.
    pub(crate) out: Option<PathBuf>,
    /// More arguments of `plimsoll burst`.
    pub(crate) flags: Vec<String>,
}

/// `None` asks for help.
pub(crate) fn parse(
    mut typed: impl Iterator<Item = String>,
) -> Result<Option<BurstArgs>, XtaskError> {
    let mut args = BurstArgs {
        quick: false,
        only: Vec::new(),
        out: None,
        flags: Vec::new(),
    };
    while let Some(flag) = typed.next() {
        match flag.as_str() {
            "-h" | "--help" => return Ok(None),
            "--quick" => args.quick = true,
            "--only" => args.only.push(service(&value(&flag, &mut typed)?)?),
            "--out" => args.out = Some(value(&flag, &mut typed)?.into()),
            "--" => args.flags = typed.by_ref().collect(),
            _ => {
                return Err(XtaskError::Usage(format!(
                    "unknown argument '{flag}'; give flags of plimsoll burst after --"
                )));
            }
        }
    }
    Ok(Some(args))
}

fn service(name: &str) -> Result<Service, XtaskError> {
    let mut all = Service::ALL.into_iter();
    all.find(|service| service.name() == name).ok_or_else(|| {
        let known = Service::ALL.map(Service::name).join(", ");
        XtaskError::Usage(format!("there is no service '{name}', only {known}"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Result<Option<BurstArgs>, XtaskError> {
        parse(line.split_whitespace().map(str::to_owned))
    }

    #[test]
    fn services_and_flags_of_plimsoll_are_taken() {
        let asked = parsed("--quick --only appliance --out d -- --max-steal 9% --quick");
        let expected = BurstArgs {
            quick: true,
            only: vec![Service::Appliance],
            out: Some("d".into()),
            flags: ["--max-steal", "9%", "--quick"].map(str::to_owned).to_vec(),
        };
        assert_eq!(asked.unwrap(), Some(expected));
        assert_eq!(parsed("--help").unwrap(), None);
    }

    #[test]
    fn usage_errors_are_reported() {
        for (line, word) in [
            ("--only", "needs a value"),
            ("--only appliances", "appliance, "),
            ("--cycles 3", "after --"),
        ] {
            let error = parsed(line).unwrap_err();
            assert!(error.to_string().contains(word), "{line}: {error}");
            assert_eq!(error.exit_code(), 2, "{line}");
        }
    }
}
