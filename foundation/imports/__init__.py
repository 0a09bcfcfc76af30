"""Readers of uploaded files: within bounds, with the line of every error."""
