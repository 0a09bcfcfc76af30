"""Readers of other people's file formats: streaming, with errors that name line and field."""
