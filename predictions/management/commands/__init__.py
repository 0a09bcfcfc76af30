"""Commands that import, compute and score predictions."""
