"""Requests to Prolific, and the signatures of its requests."""
