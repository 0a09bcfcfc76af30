"""Explainable QA data, systems' predictions and scores, and user studies."""
