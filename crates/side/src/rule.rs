//! By which law something is held, and by what.

use crate::guard::GuardSpec;
use crate::hold::Hold;
use crate::limit::QUOTA_PERIOD;
use crate::request::Held;
use plimsoll_law::{Action, Law, ParameterError, State};
use std::time::Duration;

/// A law with all that is needed to hold a group by it.
#[derive(Debug, Clone)]
pub struct Rule {
    /// What decides.
    pub law: Law,
    /// What it remembers before its first sample.
    pub state: State,
    /// What holds until its first decision.
    pub first: Action,
    /// How often it decides.
    pub period: Duration,
    /// By what it is held while it runs.
    pub hold: Hold,
    /// The period of the quota, under [`Hold::Quota`].
    pub quota_period: Duration,
    /// What else is asked; `None` for nothing. Of an empty list it is
    /// [`GuardSpec::default`] where that can be asked.
    pub guards: Option<Vec<GuardSpec>>,
    /// Whether the service is in this process, so that the default guard must
    /// not leave it out.
    pub serves_here: bool,
}

impl Rule {
    /// Our law, as a sideload on so many CPUs is held by it: it already runs with
    /// the least that it may have.
    ///
    /// # Errors
    /// When headroom and the least share leave no room.
    pub fn plimsoll(hold: Hold, held: &Held, cpus: u32) -> Result<Rule, ParameterError> {
        let law = hold.law(held.headroom, cpus)?;
        Ok(Rule {
            state: Hold::start(&law),
            first: Action::Run {
                share: law.parameters().floor,
            },
            law: Law::Plimsoll(law),
            period: held.period.unwrap_or(hold.period()),
            hold,
            quota_period: QUOTA_PERIOD,
            guards: Some(held.guards.clone()),
            serves_here: false,
        })
    }
}
