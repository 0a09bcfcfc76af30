"""Template tag for what a user may do outside a study."""

from django import template
from django.template import Context

from accounts.models import User
from studyapp.queries.access import Reach, reach_of

register = template.Library()


@register.simple_tag(takes_context=True)
def reach(context: Context) -> Reach:
    """Return the acts that the user of the request may do somewhere."""
    request = context["request"]
    # The header and the page both ask; what they get is read once per request.
    if not hasattr(request, "reach"):
        is_user = isinstance(request.user, User)
        request.reach = reach_of(request.user) if is_user else Reach(frozenset(), frozenset())
    return request.reach
