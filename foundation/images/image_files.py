"""Image files of the site, named by their content."""

import hashlib
from pathlib import Path, PurePosixPath
from urllib.parse import urlsplit

import PIL.Image
from django.conf import settings
from django.core.files.base import ContentFile
from django.core.files.storage import storages
from django.core.signing import BadSignature, TimestampSigner
from django.http import FileResponse, Http404, HttpResponseBase, HttpResponseRedirect
from django.utils.cache import patch_cache_control

from foundation.images.image_cleaning import FORMATS, clean_image

KEEP_SECONDS = 86_400  # in the browser; names are hashes of the bytes, so they never change
# Browsers keep a redirect to the origin of user content for half of the time for which its address works.
LINK_SECONDS = 7200
_LINK = TimestampSigner(sep=".", salt="foundation.image")


def store_image(source: Path) -> str:
    """Store an image without metadata, once; return its path in the storage.

    Raises:
        BadFile: It is not an image in a format that browsers show, or is broken.
    """
    content, suffix = clean_image(source)
    digest = hashlib.sha256(content).hexdigest()
    name = f"{digest[:2]}/{digest}{suffix}"
    if not has_image(name):
        storages["images"].save(name, ContentFile(content))
    return name


def has_image(path: str) -> bool:
    """Return True if the site has an image of this path."""
    return storages["images"].exists(path)


def read_image(path: str) -> bytes:
    """Return the bytes of an image.

    Raises:
        OSError: There is none, or it cannot be read.
        RunFailed: The bucket of images does not answer.
    """
    with storages["images"].open(path) as file:
        content: bytes = file.read()
    return content


def build_image_response(path: str) -> HttpResponseBase:
    """Return an image by its path, as nothing but an image.

    With USER_CONTENT_URL set, the response leads to that origin, by an address that works for a while.

    Raises:
        Http404: There is no such file, or it is not an image.
    """
    if not settings.USER_CONTENT_URL:
        return _serve_image(path)
    if not has_image(path):
        raise Http404("There is no such image.")
    response = HttpResponseRedirect(f"{settings.USER_CONTENT_URL}/content/{_LINK.sign(path)}")
    patch_cache_control(response, private=True, max_age=LINK_SECONDS // 2)
    return response


def serve_signed_image(token: str) -> HttpResponseBase:
    """Return the image of a signed address, on the origin of user content.

    Raises:
        Http404: The address is not ours, or has expired.
    """
    try:
        path = _LINK.unsign(token, max_age=LINK_SECONDS)
    except BadSignature as error:
        raise Http404("This address has expired.") from error
    response = _serve_image(path)
    response.headers["Cross-Origin-Resource-Policy"] = "cross-origin"
    return response


def get_content_host() -> str:
    """Return the host of user content; empty without an origin of its own."""
    return urlsplit(settings.USER_CONTENT_URL).netloc


def _serve_image(path: str) -> HttpResponseBase:
    """Return a file as the image that it is by its bytes.

    Its name could claim to be a page, and its bytes may be a script as well: so it has a type that browsers
    never run, keep to, and would open in a sandbox.
    """
    try:
        file = storages["images"].open(path)
    except OSError as error:
        raise Http404("There is no such image.") from error
    try:
        kind = PIL.Image.open(file, formats=FORMATS).format or ""
    except OSError as error:  # it is of another format
        file.close()
        raise Http404("There is no such image.") from error
    file.seek(0)
    name = f"{PurePosixPath(path).stem[:16]}.{kind.lower()}"
    response = FileResponse(file, content_type=PIL.Image.MIME[kind], filename=name)
    # Browsers style the page that shows a lone image.
    response.headers["Content-Security-Policy"] = "default-src 'none'; style-src 'unsafe-inline'; sandbox"
    response.headers["X-Content-Type-Options"] = "nosniff"
    response.headers["Cross-Origin-Resource-Policy"] = "same-origin"
    patch_cache_control(response, private=True, max_age=KEEP_SECONDS, immutable=True)
    return response
