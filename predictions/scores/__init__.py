"""Scores of predictions, and the document that holds them."""
