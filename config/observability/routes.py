"""Names of routes and methods, for metrics and log lines.

Addresses hold ids and tokens, and what callers invent would be a series of its own.
"""

from django.http import HttpRequest

METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")


def name_route(request: HttpRequest) -> str:
    """Return the name of the route, "none" for files and missing pages."""
    return (request.resolver_match.view_name if request.resolver_match else "") or "none"


def name_method(request: HttpRequest) -> str:
    """Return the method if it is a usual one, else "other"."""
    return request.method if request.method in METHODS else "other"
