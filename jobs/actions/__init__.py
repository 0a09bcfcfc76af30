"""Writes of jobs."""
