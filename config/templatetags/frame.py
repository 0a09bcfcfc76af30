"""Template tags of the frame: icons, current links, tabs and the theme."""

from typing import Any

from django import template
from django.http import HttpRequest
from django.template import Context
from django.templatetags.static import static
from django.urls import NoReverseMatch, reverse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe

from accounts.models import Workspace
from accounts.rights.current_workspace import find_chosen_workspace, load_own_workspaces
from foundation.known_messages import recognise_message
from foundation.messages import Message
from foundation.pages.tables import SortedTable
from foundation.translated_messages import translate_text

register = template.Library()

_CURRENT = mark_safe(' aria-current="page"')


@register.simple_tag
def icon(name: str) -> SafeString:
    """Draw an icon of `scripts.pictures.icons` beside words that say the same."""
    address = static("img/icons.svg")
    return format_html('<svg class="icon" aria-hidden="true"><use href="{}#{}"></use></svg>', address, name)


@register.filter
def stored_text(text: str) -> str | SafeString:
    """Return a text of a server or job in the page's language.

    An unknown text is marked as English.
    """
    message = recognise_message(text)
    if isinstance(message, Message) or not text:
        return translate_text(message)
    return format_html('<span lang="en">{}</span>', text)


@register.simple_tag(takes_context=True)
def theme(context: Context) -> str:
    """Return the chosen theme: light, dark, or empty for the device's."""
    request = context.get("request")
    chosen = request.COOKIES.get("theme", "") if request is not None else ""
    return chosen if chosen in ("light", "dark") else ""


@register.simple_tag(takes_context=True)
def density(context: Context) -> str:
    """Return the chosen height of rows: compact, or empty for comfortable."""
    request = context.get("request")
    return "compact" if request is not None and request.COOKIES.get("density") == "compact" else ""


@register.inclusion_tag("table_head.html")
def table_head(table: SortedTable) -> dict[str, SortedTable]:
    """Draw the head of a table, whose columns sort it by links."""
    return {"table": table}


@register.simple_tag
def sort_field(table: SortedTable) -> SafeString:
    """Keep the order of a table in a form of filters."""
    pairs = ((name, value) for name, value in table.asked.items())
    return format_html_join("", '<input type="hidden" name="{}" value="{}">', pairs)


@register.simple_tag(takes_context=True)
def current(context: Context, *beginnings: str) -> str:
    """Mark a link of the menu if the address begins with one of these.

    A page whose address is below none of the menu's passes one of them as ``menu_address``.
    """
    path = context.get("menu_address") or context["request"].path
    return _CURRENT if any(path.startswith(beginning) for beginning in beginnings) else ""


@register.simple_block_tag(takes_context=True)
def tab(context: Context, content: str, view: str, *args: Any, pages: str = "") -> SafeString:
    """Return a tab that leads to a view.

    Args:
        context: The context of the page.
        content: The words of the tab.
        view: The name of the view.
        args: The arguments of its address.
        pages: The names of further views below this tab, without their namespace.
    """
    request: HttpRequest = context["request"]
    match = request.resolver_match
    names = {view.rpartition(":")[2], *pages.split()}
    here = _CURRENT if match is not None and match.url_name in names else ""
    return format_html('<li><a href="{}"{}>{}</a></li>', reverse(view, args=args), here, content.strip())


@register.simple_tag
def address_of(view: str) -> str:
    """Return the address of a view, empty if this site does not have it."""
    try:
        return reverse(view)
    except NoReverseMatch:
        return ""


@register.simple_tag(takes_context=True)
def my_workspaces(context: Context) -> dict[str, Workspace | list[Workspace] | None]:
    """Return the workspaces of the person, and the one that the pages show."""
    request: HttpRequest = context["request"]
    return {"all": load_own_workspaces(request), "chosen": find_chosen_workspace(request)}
