"""Benchmarks of the site: requests, pages, load, memory."""
