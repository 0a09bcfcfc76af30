"""Pages of the team: a study, its people, results, payments and settings."""
