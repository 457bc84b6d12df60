//! Errors of a comparison, one sentence each.

/// Why machines cannot be compared.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum CompareError {
    #[error("one record alone has nothing to be compared with; name at least two")]
    TooFew,
    #[error(
        "'{first}' and '{other}' cannot be runs of one machine: their {respect} differs; give --against runs that repeat each other, or compare them without it"
    )]
    Runs {
        first: String,
        other: String,
        respect: &'static str,
    },
    #[error(
        "two of the records are called '{name}', so nobody could tell them apart; name each record once"
    )]
    SameName { name: String },
    /// A run without goals.
    #[error(
        "'{name}' was made without a goal, so it has no capacity to be compared by; give one with --goal, such as --goal 'p99<10ms'"
    )]
    NoGoal { name: String },
    #[error(
        "'{first}' and '{other}' were not measured with the same workload ({difference}), so their rates say nothing about each other; compare records of the same workload"
    )]
    Workload {
        first: String,
        other: String,
        difference: String,
    },
    #[error(
        "'{first}' was evaluated for {first_goals} and '{other}' for {other_goals}; give both the same goals with --goal"
    )]
    Goals {
        first: String,
        first_goals: String,
        other: String,
        other_goals: String,
    },
    #[error(
        "a price of {price} for '{name}' makes no sense; give what it costs per hour, above 0 and up to 1000000, such as --price {name}=0.34"
    )]
    Price { name: String, price: f64 },
    #[error("{watts} W for '{name}' make no sense; give the power at its capacity, above 0")]
    Watts { name: String, watts: f64 },
    #[error("'{name}' cannot have 0 CPUs; leave the number out where it is not known")]
    NoCpus { name: String },
}
