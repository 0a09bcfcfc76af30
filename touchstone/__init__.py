"""Touchstone: statistics and reports on whether explanations help people."""
