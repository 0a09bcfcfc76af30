"""Tasks: preference, prediction and simulation in detail. Pure."""
