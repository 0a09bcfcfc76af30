"""Reads of participants: facts, flags, exclusions, payments."""
