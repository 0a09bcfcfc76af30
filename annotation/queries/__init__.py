"""Reads of the annotation app with more than one filter."""
