"""The REST API of studies."""
