"""Reads with more than one filter."""
