"""The web layer: forms, HTML, middleware."""
