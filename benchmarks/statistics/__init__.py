"""Simulations of coverage and levels, and their costs."""
