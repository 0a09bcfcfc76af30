"""Sizes of images as they are shown, and where images of an import lie."""

import struct
import zlib
from pathlib import Path

import pytest

from annotation.formats.images import ImageFolder, read_image_size
from foundation.errors import BadFile
from tests.annotation.formats.records import picture


@pytest.mark.parametrize("suffix", ["jpg", "png", "webp"])
@pytest.mark.parametrize("orientation", range(1, 9))
def test_the_size_is_that_after_exif(tmp_path: Path, suffix: str, orientation: int):
    path = picture(tmp_path / f"a.{suffix}", (64, 48), orientation=orientation)
    assert read_image_size(path) == ((48, 64) if orientation > 4 else (64, 48))


@pytest.mark.parametrize("suffix", ["gif", "bmp"])
def test_formats_without_exif_have_their_size(tmp_path: Path, suffix: str):
    assert read_image_size(picture(tmp_path / f"a.{suffix}", (30, 20))) == (30, 20)


def claimed_png(path: Path, width: int, height: int) -> Path:
    """A PNG whose header claims a size and which holds no pixels."""

    def chunk(name: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    header = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + header + chunk(b"IDAT", b"") + chunk(b"IEND", b""))
    return path


def test_no_pixel_is_decoded(tmp_path: Path):
    assert read_image_size(claimed_png(tmp_path / "a.png", 5000, 4000)) == (5000, 4000)


@pytest.mark.parametrize("side", [9_000, 10_000, 60_000])
def test_a_decompression_bomb_is_refused(tmp_path: Path, side: int):
    with pytest.raises(BadFile, match=r"a\.png: has .*80,000,000"):
        read_image_size(claimed_png(tmp_path / "a.png", side, side))


@pytest.mark.parametrize(
    "content, message",
    [
        (b"", "is not an image in a format"),
        (b"<svg/>", "is not an image in a format"),
        (b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 10 10\n", "is not an image in a format"),
        (b"\x89PNG\r\n\x1a\n\x00\x00\x00\x0dIHDR\x00", "is (no|a broken) image"),
        (b"\xff\xd8\xff\xe0\x00\x10JFIF", "is (no|a broken) image"),
    ],
)
def test_what_is_no_image_is_refused(tmp_path: Path, content: bytes, message: str):
    path = tmp_path / "a.png"
    path.write_bytes(content)
    with pytest.raises(BadFile, match=rf"a\.png: .*({message})"):
        read_image_size(path)


def test_a_missing_file_and_a_folder_are_refused(tmp_path: Path):
    with pytest.raises(BadFile, match="there is no such file"):
        read_image_size(tmp_path / "a.png")
    with pytest.raises(BadFile, match="directory"):
        read_image_size(tmp_path)


def test_images_are_found_by_path_by_url_and_by_name(tmp_path: Path):
    picture(tmp_path / "images/dev/a b.png", (5, 4))
    folder = ImageFolder(tmp_path / "images")
    for name in ("dev/a b.png", f"file://{tmp_path}/images/dev/a%20b.png", "a b.png", "elsewhere/a b.png"):
        image = folder.find(name)
        assert (image.name, image.width, image.height) == ("dev/a b.png", 5, 4)


def test_images_outside_the_folder_are_refused(tmp_path: Path):
    picture(tmp_path / "secret.png")
    (tmp_path / "images").mkdir()
    (tmp_path / "images/link.png").symlink_to(tmp_path / "secret.png")
    folder = ImageFolder(tmp_path / "images")
    for name in ("../secret.png", f"{tmp_path}/secret.png", "link.png"):
        with pytest.raises(ValueError, match="lies outside"):
            folder.find(name)


def test_a_name_that_is_missing_or_there_twice_is_told(tmp_path: Path):
    picture(tmp_path / "one/a.png")
    picture(tmp_path / "two/a.png")
    with pytest.raises(ValueError, match=r"2 images are called 'a\.png'"):
        ImageFolder(tmp_path).find("a.png")
    with pytest.raises(ValueError, match=r"'b\.png' is not among the files"):
        ImageFolder(tmp_path).find("b.png")
    with pytest.raises(BadFile, match="is not a folder"):
        ImageFolder(tmp_path / "nowhere")
