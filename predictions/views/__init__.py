"""Pages of datasets, questions, systems and runs."""
