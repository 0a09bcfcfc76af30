"""Commands of the study app."""
