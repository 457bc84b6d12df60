//! What the colours of a chart stand for.

/// What a colour stands for. Each backend has its own palette.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Tone {
    #[default]
    Plain,
    Dim,
    P50,
    P95,
    P99,
    P999,
    Cpu,
    Rate,
    /// The send delay of the load generator.
    Slip,
    Work,
    Growth,
    /// One of several runs or arms, by its place.
    Nth(usize),
    Within,
    Beyond,
    Open,
    Best,
    Budget,
    Noise,
    Service,
    Job,
    CpuTime,
    Wait,
    Late,
    /// What joins the marks of a row.
    Span,
}
