"""Reads for the design of a study: drafts, items, decisions, launch."""
