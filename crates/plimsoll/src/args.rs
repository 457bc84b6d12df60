//! The command line: flags of all commands, and the commands.

use crate::compare::CompareArgs;
use crate::demo::DemoArgs;
use crate::export::ExportArgs;
use crate::gate::GateArgs;
use crate::import::ImportArgs;
use crate::leftovers::RepairArgs;
use crate::output::ColorChoice;
use crate::plan::PlanArgs;
use crate::replay::ReplayArgs;
use crate::report::ReportArgs;
use crate::selftest::SelftestArgs;
use crate::service::ServiceArgs;
use crate::shell::{CompletionsArgs, ManArgs};
use crate::side::SideArgs;
use clap::{Args, Parser, Subcommand};

const AFTER_HELP: &str = "\
Try first:
  plimsoll sweep --quick                     what does this machine carry?
  plimsoll sweep http://localhost:8080/      what does this server carry?
  plimsoll copies -- make -j1                how do copies slow each other?
  plimsoll yield --quick                     what do batch jobs gain and cost?
  plimsoll report FILE -o report.html        the page with charts again
  plimsoll compare A.plimsoll B.plimsoll     which machine carries more?
  plimsoll plan FILE --peak 5000             how many instances?
  plimsoll side -- make -j8                  batch work in what is left
  plimsoll gate --latency 5us -- ./server    awake CPUs where it runs
  plimsoll service --load 60%                a service to play with
  plimsoll doctor                            what can be measured here?

Exit status: 0 success, 1 the run failed, 2 usage error, 130 stopped by Ctrl-C. \
side and gate end as their command does.";

/// Tells how much load a machine can really carry.
#[derive(Debug, Parser)]
#[command(name = "plimsoll", version, after_help = AFTER_HELP, arg_required_else_help = true)]
pub(crate) struct Cli {
    #[command(flatten)]
    common: CommonArgs,

    #[command(subcommand)]
    pub(crate) command: Command,
}

/// Flags of all commands.
#[derive(Debug, Args)]
pub(crate) struct CommonArgs {
    /// When to use colours.
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto")]
    pub(crate) color: ColorChoice,

    /// Tables and sentences without charts.
    #[arg(long, global = true)]
    pub(crate) no_charts: bool,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Print the findings of a recorded run.
    Report(ReportArgs),
    /// Compare machines, or versions of a service.
    Compare(CompareArgs),
    /// Size a fleet: how many instances, and at which CPU use to scale out.
    Plan(PlanArgs),
    /// Make a record from a table that somebody else measured.
    Import(ImportArgs),
    /// Write a record's measurements in other formats.
    Export(ExportArgs),
    /// Run a command within the headroom of a service.
    Side(Box<SideArgs>),
    /// Keep those CPUs awake that latency-sensitive tasks run on.
    Gate(Box<GateArgs>),
    /// Run the hash service under a load that you change while it runs.
    Service(ServiceArgs),
    /// The lab: a tour of what this machine carries, page by page.
    Demo(DemoArgs),
    /// Replay a decision log of `side` or `gate` and verify each decision.
    Replay(ReplayArgs),
    /// Measure services of known capacity here, and report the error.
    Selftest(SelftestArgs),
    /// Report what can be measured on this machine, and what is unavailable.
    #[command(after_help = DOCTOR_HELP)]
    Doctor,
    /// Undo what killed runs have left, and list what still runs.
    Repair(RepairArgs),
    /// Print shell completions.
    Completions(CompletionsArgs),
    /// Print the manual page, or write all of them.
    Man(ManArgs),
}

const DOCTOR_HELP: &str = "\
Worked example, from a virtual machine:
  missing energy counter: work per joule is not known
            none in most virtual machines; on metal, load intel_rapl_msr
A sweep runs all the same; its record has no energy, and `plimsoll compare` no
work per joule.

Example:
  plimsoll doctor     before a first sweep, or when a report says what it lacks";
