"""Requests to model servers, and the systems that they serve."""
