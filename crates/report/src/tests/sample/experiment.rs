//! What tests have to know of an experiment to show its findings.

use super::{Sample, picture};
use crate::yields::YieldPicture;
use crate::{CopiesReport, Document, Report, YieldReport};
use plimsoll_model::{
    CopiesFindings, CopiesPlan, Findings, Picture, Plan, RunPlan, TrialPicture, YieldFindings,
    YieldPlan,
};

/// The experiment that a plan is of.
pub(crate) trait Experiment: Clone {
    const NAME: &'static str;
    type Findings: Clone;
    type Picture: Default;
    /// What of the picture does not follow from the findings.
    type Drawn: Clone + Default;

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
    type Drawn = ();

    fn workload(&self) -> String {
        self.workload.to_string()
    }

    fn run(&self) -> &RunPlan {
        &self.run
    }

    fn without_secrets(&self) -> Plan {
        Plan::without_secrets(self)
    }

    fn picture(sample: &Sample) -> Picture {
        picture::picture(sample)
    }

    fn document<'a>(report: &'a Report<'a>, picture: Option<&'a Picture>) -> Document<'a> {
        crate::sweep::document(report, picture)
    }
}

impl Experiment for CopiesPlan {
    const NAME: &'static str = "copies";
    type Findings = CopiesFindings;
    type Picture = Vec<TrialPicture>;
    type Drawn = ();

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
        picture::copies_trials(sample)
    }

    fn document<'a>(
        report: &'a CopiesReport<'a>,
        picture: Option<&'a Vec<TrialPicture>>,
    ) -> Document<'a> {
        crate::copies::document(report, picture)
    }
}

impl Experiment for YieldPlan {
    const NAME: &'static str = "yield";
    type Findings = YieldFindings;
    type Picture = YieldPicture;
    type Drawn = YieldPicture;

    fn workload(&self) -> String {
        self.load.workload.to_string()
    }

    fn run(&self) -> &RunPlan {
        &self.load.run
    }

    fn without_secrets(&self) -> YieldPlan {
        YieldPlan {
            load: self.load.without_secrets(),
            ..self.clone()
        }
    }

    fn picture(sample: &Sample<YieldPlan>) -> YieldPicture {
        sample.drawn.clone()
    }

    fn document<'a>(
        report: &'a YieldReport<'a>,
        picture: Option<&'a YieldPicture>,
    ) -> Document<'a> {
        crate::yields::document(report, picture)
    }
}
