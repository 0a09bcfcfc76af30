"""Readers of question and prediction files."""
