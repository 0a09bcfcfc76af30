"""Every write of the annotation app."""
