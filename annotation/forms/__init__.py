"""Forms of managers and reviewers."""
