"""The backends of the database, and queries that Django does not offer."""
