"""Restrict webhooks and ML backends to the public internet.

A name is resolved once, all its addresses are checked, and the connection goes to a checked one. A name that
resolves differently later (DNS rebinding) therefore leads nowhere.
"""

import ipaddress
import socket
from collections.abc import Mapping
from contextlib import suppress
from typing import Any
from urllib.parse import urlsplit

import httpx
from django.conf import settings
from django.utils.translation import gettext as _

from foundation.errors import TouchstoneError


class Refused(TouchstoneError):
    """A webhook's address is not deliverable; the message says why."""

    status = 422


class NotFound(Refused):
    """A webhook's name has no address now."""


def resolve_address(url: str, *, allow_private: bool) -> str:
    """Resolve a URL to the address to connect to.

    Raises:
        Refused: The URL has no address (NotFound), or one that is not public.
    """
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:  # such as http://[::1 or the port 99999
        host = None
    if not host or parts.scheme not in ("http", "https"):
        raise Refused(_("%(url)s is not an http or https address.") % {"url": url})
    try:
        port = port or (443 if parts.scheme == "https" else 80)
        infos = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, ValueError) as error:
        sentence = _("The address of %(host)s cannot be found: %(error)s")
        raise NotFound(sentence % {"host": host, "error": error}) from error
    addresses = list(dict.fromkeys(str(info[4][0]) for info in infos))
    if not allow_private:
        for address in addresses:
            if not is_public(address):
                if address == host:
                    raise Refused(_("%(address)s is not a public address.") % {"address": address})
                sentence = _("%(host)s is %(address)s, which is not a public address.")
                raise Refused(sentence % {"host": host, "address": address})
    return addresses[0]


def check_new_address(url: str) -> None:
    """Refuse an address to which nothing would ever be sent.

    A name that has no address now may get one, and is checked again before each request. Call this before
    your transaction begins: the lookup of a name can take seconds.

    Raises:
        Refused: It is not public, not a web address, or names a user.
    """
    with suppress(NotFound):
        resolve_address(url, allow_private=settings.WEBHOOK_ALLOW_PRIVATE)
    if httpx.URL(url).userinfo:
        raise Refused(_("The address must not contain a user name or password."))


def build_pinned_request(
    method: str,
    url: str,
    *,
    allow_private: bool,
    timeout: httpx.Timeout,
    headers: Mapping[str, str],
    **body: Any,
) -> httpx.Request:
    """Return a request that connects to the address that was checked.

    Args:
        method: The HTTP method.
        url: The address by name.
        allow_private: As of `resolve_address`.
        timeout: The time limits.
        headers: Further headers.
        body: ``content`` or ``json`` of the request.

    Raises:
        Refused: As `resolve_address`.
        httpx.InvalidURL: The URL cannot be parsed.
    """
    address, named = resolve_address(url, allow_private=allow_private), httpx.URL(url)
    return httpx.Request(
        method,
        named.copy_with(host=address),
        headers={"Host": named.netloc.decode("ascii"), "User-Agent": "Touchstone", **headers},
        # The certificate must be that of the name, not of the address.
        extensions={"sni_hostname": named.raw_host.decode("ascii"), "timeout": timeout.as_dict()},
        **body,
    )


def is_public(address: str) -> bool:
    """Return True if an IP address is public, also within an IPv6 address."""
    parsed = ipaddress.ip_address(address.partition("%")[0])
    if isinstance(parsed, ipaddress.IPv6Address):
        inner = parsed.ipv4_mapped or parsed.sixtofour
        if parsed in _NAT64:
            inner = ipaddress.IPv4Address(parsed.packed[-4:])
        if inner is not None:
            return is_public(str(inner))
        if parsed.is_site_local:  # was private before fc00::/7, and Python calls it global
            return False
    return parsed.is_global and not parsed.is_multicast and not parsed.is_reserved


_NAT64 = ipaddress.ip_network("64:ff9b::/96")
