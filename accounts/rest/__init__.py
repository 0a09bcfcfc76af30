"""Access, bodies, pages and errors of all endpoints of the REST API."""
