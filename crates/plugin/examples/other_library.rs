//! A library that is no scheduler, for the tests.
