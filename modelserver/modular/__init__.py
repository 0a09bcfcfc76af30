"""Modular networks: programs of small modules, executed over images or a passage."""
