"""Errors, messages, a state machine and file readers for all apps."""
