"""Pictures of the pages, and the icons."""
