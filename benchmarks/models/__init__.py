"""Benchmarks of systems, the model server and its scores."""
