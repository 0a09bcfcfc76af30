"""The studio: define a study on web pages, and preview it."""
