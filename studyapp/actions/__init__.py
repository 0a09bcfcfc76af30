"""All writes of the study app, by subject."""
