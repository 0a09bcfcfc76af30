"""Commands of the study app, one a module."""
