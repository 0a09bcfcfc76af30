"""Template tags of jobs."""
