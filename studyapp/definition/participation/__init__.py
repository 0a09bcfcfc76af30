"""Recruitment, payment, privacy and suspicion in a definition. Pure."""
