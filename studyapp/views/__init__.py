"""Pages of the study app: participant pages and staff pages."""
