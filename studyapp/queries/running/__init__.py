"""Reads of a running study: progress, responses, results."""
