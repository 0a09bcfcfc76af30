"""Planning of studies: power analysis, sample size, pre-registration."""
