"""Analysis of a study: comparisons, models and relations to scores."""
