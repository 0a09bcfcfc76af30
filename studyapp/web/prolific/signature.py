"""Signed addresses of Prolific: a JSON web token in ``prolific_token``.

Source: Prolific API reference, "Well-known endpoints: retrieve JSON Web Key Set".
The signature is RS256. ``exp`` must lie in the future, ``aud`` be an address of
this site, ``iss`` be Prolific, and ``prolific`` contain the IDs of the address.

Exceptions: `KeysUnavailable`; `recruitment.BadArrival` for an invalid token.
"""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any
from urllib.parse import urlsplit

import jwt

from studyapp.definition.participation.recruitment import BadArrival
from studyapp.errors import StudyappError

PARAMETER = "prolific_token"
ISSUER = "https://www.prolific.com"
_IDS = ("PROLIFIC_PID", "STUDY_ID", "SESSION_ID")
_DAY = 86_400


class KeysUnavailable(StudyappError):
    """The platform's public keys cannot be fetched now."""


def verify_ids(sent: Mapping[str, str], *, jwks_url: str, site_url: str) -> dict[str, str]:
    """Return the three IDs that Prolific signed.

    Args:
        sent: The parameters of the address.
        jwks_url: The address of the public keys.
        site_url: The address of this site.

    Raises:
        BadArrival: The token is missing or invalid, or the address differs from it.
        KeysUnavailable: The keys did not arrive within 5 s; try again later.
    """
    token = sent.get(PARAMETER, "")
    if not token:
        raise BadArrival("unsigned", PARAMETER)
    try:
        key = _build_key_client(jwks_url).get_signing_key_from_jwt(token)
        claims = jwt.decode(
            token,
            key,
            algorithms=["RS256"],
            issuer=ISSUER,
            leeway=10,
            options={"require": ["exp", "aud", "iss"], "verify_aud": False},
        )
    except jwt.PyJWKClientConnectionError as error:
        raise KeysUnavailable(f"{jwks_url}: {error}") from error
    except jwt.PyJWTError as error:
        raise BadArrival("badly_signed", PARAMETER) from error
    return _verify_ids(claims, sent, site_url)


def _verify_ids(claims: dict[str, Any], sent: Mapping[str, str], site_url: str) -> dict[str, str]:
    """Check the audience and return the IDs.

    The audience is the whole study address, so only its origin is compared.
    """
    audiences = claims["aud"] if isinstance(claims["aud"], list) else [claims["aud"]]
    signed = claims.get("prolific")
    if _parse_origin(site_url) not in [
        _parse_origin(str(audience)) for audience in audiences
    ] or not isinstance(signed, dict):
        raise BadArrival("badly_signed", PARAMETER)
    ids = {name: str(signed.get(name, "")) for name in _IDS}
    if not all(ids.values()) or any(sent.get(name, ids[name]) != ids[name] for name in _IDS):
        raise BadArrival("badly_signed", PARAMETER)
    return ids


def _parse_origin(address: str) -> tuple[str, str | None, int | None]:
    """Return scheme, host and port; an audience may have no scheme."""
    parts = urlsplit(address if "://" in address else f"https://{address}")
    try:
        port = parts.port
    except ValueError:
        port = -1
    return parts.scheme, parts.hostname, port


@lru_cache(maxsize=4)
def _build_key_client(jwks_url: str) -> jwt.PyJWKClient:
    """Return a client that fetches the keys once a day, as Prolific asks.

    An unknown key makes it fetch them again.
    """
    return jwt.PyJWKClient(jwks_url, lifespan=_DAY, timeout=5)
