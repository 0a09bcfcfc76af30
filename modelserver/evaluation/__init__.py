"""Predictions and scores of a system on a file, without a server."""
