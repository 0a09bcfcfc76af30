"""Datasets, the predictions of systems on them, and their scores."""
