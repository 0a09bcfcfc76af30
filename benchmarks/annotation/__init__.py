"""Benchmarks of the editor, of files and of agreement."""
