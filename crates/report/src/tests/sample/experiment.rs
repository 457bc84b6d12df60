//! What tests have to know of an experiment to show its findings.

use super::Sample;
use crate::tests::pages;
use crate::{CopiesReport, Document, Report, hide_secrets};
use plimsoll_model::{CopiesFindings, CopiesPlan, Findings, Picture, Plan, RunPlan, TrialPicture};

/// The experiment that a plan is of.
pub(in crate::tests) trait Experiment: Clone {
    const NAME: &'static str;
    type Findings: Clone;
    type Picture: Default;

    fn workload(&self) -> String;
    fn run(&self) -> &RunPlan;
    fn without_secrets(&self) -> Self;
    /// A picture that goes with a sample.
    fn picture(sample: &Sample<Self>) -> Self::Picture;
    fn document<'a>(
        report: &'a Report<'a, Self, Self::Findings>,
        picture: Option<&'a Self::Picture>,
    ) -> Document<'a>;
}

impl Experiment for Plan {
    const NAME: &'static str = "sweep";
    type Findings = Findings;
    type Picture = Picture;

    fn workload(&self) -> String {
        self.workload.to_string()
    }

    fn run(&self) -> &RunPlan {
        &self.run
    }

    fn without_secrets(&self) -> Plan {
        hide_secrets(self)
    }

    fn picture(sample: &Sample) -> Picture {
        pages::picture(sample)
    }

    fn document<'a>(report: &'a Report<'a>, picture: Option<&'a Picture>) -> Document<'a> {
        crate::sweep::document(report, picture)
    }
}

impl Experiment for CopiesPlan {
    const NAME: &'static str = "copies";
    type Findings = CopiesFindings;
    type Picture = Vec<TrialPicture>;

    fn workload(&self) -> String {
        self.workload.to_string()
    }

    fn run(&self) -> &RunPlan {
        &self.run
    }

    fn without_secrets(&self) -> CopiesPlan {
        self.clone()
    }

    fn picture(sample: &Sample<CopiesPlan>) -> Vec<TrialPicture> {
        pages::copies_trials(sample)
    }

    fn document<'a>(
        report: &'a CopiesReport<'a>,
        picture: Option<&'a Vec<TrialPicture>>,
    ) -> Document<'a> {
        crate::copies::document(report, picture)
    }
}
