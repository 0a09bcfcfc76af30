"""The REST API of the annotation app."""
