//! The law and the mechanism of a control loop.

use crate::cpu_mechanism::CpuMechanism;
use crate::guard::GuardSpec;
use crate::limit::QUOTA_PERIOD;
use crate::request::SideloadOptions;
use plimsoll_law::{Action, Law, ParameterError, State};
use std::time::Duration;

/// A law and its parameters for a control loop.
#[derive(Debug, Clone)]
pub struct Rule {
    pub law: Law,
    /// Its state before the first sample.
    pub state: State,
    /// The action until the first decision.
    pub first: Action,
    /// The interval between decisions.
    pub period: Duration,
    pub mechanism: CpuMechanism,
    /// The quota period, under [`CpuMechanism::Quota`].
    pub quota_period: Duration,
    /// The guards; `None` for none. An empty list means [`GuardSpec::default`] if it is
    /// readable.
    pub guards: Option<Vec<GuardSpec>>,
    /// Whether the service runs in this process, so that the default guard must include
    /// it.
    pub serves_here: bool,
}

impl Rule {
    /// Our law for a sideload on this many CPUs. The sideload starts with its minimum.
    ///
    /// # Errors
    /// If headroom and minimum share leave no room.
    pub fn plimsoll(
        mechanism: CpuMechanism,
        options: &SideloadOptions,
        cpus: u32,
    ) -> Result<Rule, ParameterError> {
        let law = mechanism.law(options.headroom, cpus)?;
        Ok(Rule {
            state: CpuMechanism::start(&law),
            first: Action::Run {
                share: law.parameters().floor,
            },
            law: Law::Plimsoll(law),
            period: options.period.unwrap_or(mechanism.period()),
            mechanism,
            quota_period: QUOTA_PERIOD,
            guards: Some(options.guards.clone()),
            serves_here: false,
        })
    }
}
