"""Observability for operators: health, metrics, logs, traces, errors."""
