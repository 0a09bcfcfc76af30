"""Reads of more than one filter, by subject."""
