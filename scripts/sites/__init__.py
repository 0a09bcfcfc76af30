"""Whole sites for demo, tests and benchmarks: their programs and servers."""
