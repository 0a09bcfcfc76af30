"""Settling gold in a real browser: what the annotators marked, taken over, becomes a version of the gold."""
