"""Texts of a study in further languages. Pure."""
