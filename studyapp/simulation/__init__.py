"""Simulated participants: behaviours, planted effects and walks."""
