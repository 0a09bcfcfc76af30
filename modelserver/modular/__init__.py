"""Modular networks: programs of small modules over images or a passage."""
