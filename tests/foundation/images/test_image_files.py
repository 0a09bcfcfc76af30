"""Only the pixels of uploads are stored, and nothing else is served."""

from __future__ import annotations

import io
import zlib
from pathlib import Path
from typing import Any

import PIL.Image
import PIL.ImageOps
import pytest
from django.http import FileResponse, Http404, HttpResponseBase
from PIL import PngImagePlugin

from foundation.errors import BadFile
from foundation.images.image_cleaning import clean_image
from foundation.images.image_files import build_image_response, serve_signed_image, store_image
from foundation.images.image_storage import get_image_folder

SECRETS = (b"Secret camera", b"GPS", b"secret comment", b"<x:xmpmeta", b"alert(1)")
SIZE = (48, 32)
KINDS = ["JPEG", "PNG", "WEBP", "GIF", "BMP"]


@pytest.fixture(autouse=True)
def _own_folder(settings: Any, tmp_path: Path) -> None:
    settings.VAR_DIR = tmp_path / "var"
    settings.USER_CONTENT_URL = ""


def exif(orientation: int = 1) -> PIL.Image.Exif:
    tags = PIL.Image.Exif()
    tags[0x0112], tags[0x010F], tags[0x010E] = orientation, "Secret camera", "GPS 48.1 N 11.5 E"
    tags.get_ifd(0x8825)[1] = "N"
    return tags


def photo(path: Path, kind: str, orientation: int = 1) -> Path:
    """Write an image with all metadata of its format, and a script at its end."""
    picture = PIL.Image.new("RGB", SIZE, "navy")
    picture.paste("orange", (0, 0, 20, 10))
    more: dict[str, Any] = {}
    if kind == "PNG":
        more["pnginfo"] = PngImagePlugin.PngInfo()
        more["pnginfo"].add_itxt("XML:com.adobe.xmp", "<x:xmpmeta/>")
    if kind in ("JPEG", "GIF"):
        more["comment"] = b"secret comment"
    if kind in ("JPEG", "WEBP"):
        more["xmp"] = b"<x:xmpmeta/>"
    if kind in ("JPEG", "PNG", "WEBP"):
        more["exif"] = exif(orientation)
    if kind == "WEBP":
        more["lossless"] = True
    picture.save(path, kind, **more)
    if kind != "BMP":
        path.write_bytes(path.read_bytes() + b"alert(1)")
    return path


def pixels(content: bytes | Path) -> bytes:
    with PIL.Image.open(io.BytesIO(content) if isinstance(content, bytes) else content) as image:
        return image.convert("RGB").tobytes()


@pytest.mark.parametrize("kind", KINDS)
def test_a_stored_image_has_its_pixels_and_no_metadata(tmp_path: Path, kind: str):
    source = photo(tmp_path / "p.html", kind)
    if kind != "BMP":
        assert any(secret in source.read_bytes() for secret in SECRETS)
    content = (get_image_folder() / store_image(source)).read_bytes()
    assert pixels(content) == pixels(source)
    assert not [secret for secret in SECRETS if secret in content]
    with PIL.Image.open(io.BytesIO(content)) as image:
        assert not image.getexif()


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "WEBP"])
@pytest.mark.parametrize("orientation", range(2, 9))
def test_a_turned_photo_is_stored_as_it_is_shown(tmp_path: Path, kind: str, orientation: int):
    source = photo(tmp_path / "p", kind, orientation)
    content, _suffix = clean_image(source)
    with PIL.Image.open(source) as image:
        shown = PIL.ImageOps.exif_transpose(image)
    with PIL.Image.open(io.BytesIO(content)) as stored:
        assert stored.size == shown.size == (SIZE if orientation < 5 else SIZE[::-1])
        assert not stored.getexif()
        corner = stored.convert("RGB").getpixel((2, 2))
        expected = shown.convert("RGB").getpixel((2, 2))
    assert isinstance(corner, tuple)
    assert isinstance(expected, tuple)
    assert max(abs(a - b) for a, b in zip(corner, expected, strict=True)) <= 8


def test_an_image_without_metadata_keeps_its_bytes(tmp_path: Path):
    path = tmp_path / "plain.png"
    PIL.Image.new("RGB", SIZE, "navy").save(path)
    assert clean_image(path)[0] == path.read_bytes()


def test_two_workers_store_the_same_image_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    source, replace = photo(tmp_path / "a.png", "PNG"), Path.replace
    names = list[str]()

    def replace_after_another(self: Path, target: Path) -> Path:
        monkeypatch.setattr(Path, "replace", replace)
        names.append(store_image(source))
        return self.replace(target)

    monkeypatch.setattr(Path, "replace", replace_after_another)
    assert [store_image(source)] == names
    assert [path.name for path in get_image_folder().rglob("*") if path.is_file()] == [Path(names[0]).name]


def test_an_animation_keeps_its_frames(tmp_path: Path):
    frames = [PIL.Image.new("RGB", SIZE, colour) for colour in ("red", "green", "blue")]
    for kind in ("GIF", "PNG", "WEBP"):
        path = tmp_path / kind
        frames[0].save(path, kind, save_all=True, append_images=frames[1:], loop=0, duration=80)
        with PIL.Image.open(io.BytesIO(clean_image(path)[0])) as image:
            assert (getattr(image, "n_frames", 1), image.info.get("loop")) == (3, 0), kind


def test_the_suffix_is_that_of_the_content(tmp_path: Path):
    source = photo(tmp_path / "p.html", "GIF")
    assert store_image(source).endswith(".gif")


@pytest.mark.parametrize("content", [b"\xff\xd8\xff\xe0\x00\x04ab<script>", b"GIF89a\x01", b"<svg/>", b""])
def test_what_is_no_image_is_refused(tmp_path: Path, content: bytes):
    path = tmp_path / "p.png"
    path.write_bytes(content)
    with pytest.raises(BadFile):
        store_image(path)


def serve(path: str) -> HttpResponseBase:
    return closed(build_image_response(path))


def closed(response: HttpResponseBase) -> HttpResponseBase:
    assert isinstance(response, FileResponse)
    response.file_to_stream.close()  # to close the response would touch the database
    return response


def test_a_file_stored_as_a_page_is_served_as_an_image():
    """A stored name may still say html.

    Earlier versions named files by the suffix of their source.
    """
    folder = get_image_folder() / "ab"
    folder.mkdir(parents=True)
    photo(folder / "abcd.html", "GIF")
    headers = serve("ab/abcd.html").headers
    assert headers["Content-Type"] == "image/gif"
    assert headers["Content-Disposition"] == 'inline; filename="abcd.gif"'
    assert "sandbox" in headers["Content-Security-Policy"]
    assert headers["X-Content-Type-Options"] == "nosniff"


@pytest.mark.parametrize(
    "content", [b"<script>alert(1)</script>", b"<svg xmlns='http://www.w3.org/2000/svg'/>"]
)
def test_a_file_that_is_no_image_is_not_served(content: bytes):
    (get_image_folder() / "ab").mkdir(parents=True)
    (get_image_folder() / "ab" / "abcd.html").write_bytes(content)
    with pytest.raises(Http404):
        build_image_response("ab/abcd.html")
    with pytest.raises(Http404):
        build_image_response("ab/missing.png")


def test_user_content_has_an_origin_of_its_own(settings: Any, tmp_path: Path):
    path = store_image(photo(tmp_path / "a.gif", "GIF"))
    settings.USER_CONTENT_URL = "https://content.example.org"
    response = build_image_response(path)
    address = response.headers["Location"]
    assert response.status_code == 302
    assert address.startswith("https://content.example.org/content/")
    token = address.partition("/content/")[2]
    image = closed(serve_signed_image(token))
    assert image.headers["Content-Type"] == "image/gif"
    for wrong in (token[:-1], f"x{token}", path):
        with pytest.raises(Http404):
            serve_signed_image(wrong)


@pytest.mark.parametrize("side", [10_000, 60_000])
def test_a_small_file_that_claims_many_pixels_is_refused(tmp_path: Path, side: int):
    source = tmp_path / "bomb.png"
    PIL.Image.new("RGB", (1, 1)).save(source)
    content = bytearray(source.read_bytes())
    content[16:24] = side.to_bytes(4) * 2
    content[29:33] = zlib.crc32(content[12:29]).to_bytes(4)
    source.write_bytes(content)
    with pytest.raises(BadFile, match="more than 80,000,000 pixels"):
        clean_image(source)
