//! Why machines are not compared, each in a sentence.

/// Why machines cannot be compared.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum CompareError {
    /// Nothing to hold against.
    #[error("one record alone has nothing to be compared with; name at least two")]
    TooFew,
    /// Two of one name.
    #[error(
        "two of the records are called '{name}', so nobody could tell them apart; name each record once"
    )]
    SameName {
        /// The name.
        name: String,
    },
    /// A run without goals.
    #[error(
        "'{name}' was made without a goal, so it has no capacity to be compared by; give one with --goal, such as --goal 'p99<10ms'"
    )]
    NoGoal {
        /// The machine.
        name: String,
    },
    /// Another workload.
    #[error(
        "'{first}' and '{other}' were not measured with the same workload ({difference}), so their rates say nothing about each other; compare records of the same workload"
    )]
    Workload {
        /// The first machine.
        first: String,
        /// The other one.
        other: String,
        /// What differs.
        difference: String,
    },
    /// Other goals.
    #[error(
        "'{first}' was held against {first_goals} and '{other}' against {other_goals}; give both the same goals with --goal"
    )]
    Goals {
        /// The first machine.
        first: String,
        /// Its goals.
        first_goals: String,
        /// The other one.
        other: String,
        /// Its goals.
        other_goals: String,
    },
    /// No price.
    #[error(
        "a price of {price} for '{name}' makes no sense; give what it costs per hour, above 0 and up to 1000000, such as --price {name}=0.34"
    )]
    Price {
        /// The machine.
        name: String,
        /// The price.
        price: f64,
    },
    /// No power.
    #[error("{watts} W for '{name}' make no sense; give the power at its capacity, above 0")]
    Watts {
        /// The machine.
        name: String,
        /// The power.
        watts: f64,
    },
    /// No CPUs.
    #[error("'{name}' cannot have 0 CPUs; leave the number out where it is not known")]
    NoCpus {
        /// The machine.
        name: String,
    },
}
