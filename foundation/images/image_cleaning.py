"""Image files without what cameras and programs add to the pixels.

EXIF holds the place and the device of a photo, and comments, unknown parts and whatever follows the end of an
image can hold a script. The pixels stay as they are: parts are left out, nothing is compressed again. Only an
image that EXIF turns is written again, turned, because the tag that turns it goes.
"""

import io
import re
import struct
from collections.abc import Callable, Iterator
from pathlib import Path

import PIL.Image
import PIL.ImageOps
import PIL.JpegImagePlugin

from foundation.errors import BadFile
from foundation.messages import extract_message, say, value_error

FORMATS = ("JPEG", "PNG", "WEBP", "GIF", "BMP")  # what browsers show
MOST_PIXELS = 80_000_000  # larger images need gigabytes in a browser
_ORIENTATION = 0x0112
_SUFFIXES = {"JPEG": ".jpg", "PNG": ".png", "WEBP": ".webp", "GIF": ".gif", "BMP": ".bmp"}

# Application segments of a JPEG file that change how pixels look: density, colour profile, colour transform.
_SEGMENTS = {0xE0: b"JFIF\0", 0xE2: b"ICC_PROFILE\0", 0xEE: b"Adobe"}
_JPEG_COMMENT, _JPEG_SCAN, _JPEG_END = 0xFE, 0xDA, 0xD9
_NEXT_MARKER = re.compile(rb"\xff[\x01-\xcf\xd8-\xfe]")  # neither data nor a restart
_PNG_CHUNKS = {b"IHDR", b"PLTE", b"IDAT", b"IEND", b"tRNS", b"gAMA", b"cHRM", b"sRGB", b"iCCP", b"sBIT"}
_PNG_CHUNKS |= {b"bKGD", b"pHYs", b"cICP", b"mDCV", b"cLLI", b"acTL", b"fcTL", b"fdAT"}
_WEBP_CHUNKS = {b"VP8X", b"VP8 ", b"VP8L", b"ALPH", b"ANIM", b"ANMF", b"ICCP"}
_WEBP_METADATA = 0x0C  # the flags of EXIF and XMP
_GIF_CONTROL, _GIF_APPLICATION = 0xF9, 0xFF
_GIF_LOOPS = (b"NETSCAPE2.0", b"ANIMEXTS1.0")


def read_orientation(image: PIL.Image.Image) -> int:
    """Return the EXIF orientation of the header, 1 without one.

    `Image.getexif` would decode a PNG to its end.
    """
    exif = PIL.Image.Exif()
    exif.load(image.info.get("exif", b""))
    return int(exif.get(_ORIENTATION, 1))


def _build_size_error(path: Path) -> BadFile:
    return BadFile(path, say("has more than %(most_pixels)s pixels", most_pixels=f"{MOST_PIXELS:,}"))


def clean_image(path: Path) -> tuple[bytes, str]:
    """Return an image as it is shown, without metadata, and its suffix.

    Raises:
        BadFile: It is not an image of one of FORMATS, is broken, or has more than MOST_PIXELS pixels (a
            small file can claim to hold billions).
    """
    try:
        with PIL.Image.open(path, formats=FORMATS) as image:
            kind = image.format or ""
            if image.width * image.height > MOST_PIXELS:
                raise _build_size_error(path)
            content = (
                path.read_bytes()
                if read_orientation(image) not in range(2, 9)
                else _turn_upright(image, kind)
            )
        return _PARTS[kind](content), _SUFFIXES[kind]
    except (PIL.Image.DecompressionBombError, PIL.Image.DecompressionBombWarning) as error:
        raise _build_size_error(path) from error
    except (OSError, IndexError, SyntaxError, ValueError, struct.error) as error:
        raise BadFile(path, say("is a broken image: %(problem)s", problem=extract_message(error))) from error


def _turn_upright(image: PIL.Image.Image, kind: str) -> bytes:
    options: dict[str, object] = {"icc_profile": image.info.get("icc_profile")}
    if isinstance(image, PIL.JpegImagePlugin.JpegImageFile):
        # With the tables of the file, a second compression changes next to nothing.
        options |= {"qtables": image.quantization, "subsampling": PIL.JpegImagePlugin.get_sampling(image)}
    if kind == "WEBP":
        options["lossless"] = True
    file = io.BytesIO()
    PIL.ImageOps.exif_transpose(image).save(file, kind, **options)
    return file.getvalue()


def _clean_jpeg(data: bytes) -> bytes:
    kept, at = [data[:2]], 2
    while at + 4 <= len(data):
        if data[at] != 0xFF:
            raise value_error("there is no segment at byte %(at)s", at=at)
        marker = data[at + 1]
        if marker == 0xFF:  # fills up
            at += 1
            continue
        if marker == _JPEG_END:
            break
        start, at = at, at + 2 + int.from_bytes(data[at + 2 : at + 4])
        if marker == _JPEG_SCAN:
            following = _NEXT_MARKER.search(data, at)
            at = following.start() if following else len(data)
        content = data[start + 4 : at]
        is_extra = 0xE0 <= marker <= 0xEF and not content.startswith(_SEGMENTS.get(marker, b"\0none"))
        if marker != _JPEG_COMMENT and not is_extra:
            kept.append(data[start:at])
    return b"".join([*kept, bytes([0xFF, _JPEG_END])])


def _clean_png(data: bytes) -> bytes:
    kept, at = [data[:8]], 8
    while at + 8 <= len(data):
        start, name = at, data[at + 4 : at + 8]
        at += 12 + int.from_bytes(data[at : at + 4])
        if name in _PNG_CHUNKS:
            kept.append(data[start:at])
        if name == b"IEND":
            break
    return b"".join(kept)


def _clean_webp(data: bytes) -> bytes:
    kept, at = [], 12
    end = min(len(data), 8 + int.from_bytes(data[4:8], "little"))
    while at + 8 <= end:
        name, length = data[at : at + 4], int.from_bytes(data[at + 4 : at + 8], "little")
        chunk = bytearray(data[at : at + 8 + length + length % 2])
        at += len(chunk)
        if name == b"VP8X":
            chunk[8] &= ~_WEBP_METADATA
        if name in _WEBP_CHUNKS:
            kept.append(bytes(chunk))
    content = b"WEBP" + b"".join(kept)
    return b"RIFF" + len(content).to_bytes(4, "little") + content


def _clean_gif(data: bytes) -> bytes:
    at = 13 + _measure_colour_table(data[10])
    return b"".join([data[:at], *_read_gif_blocks(data, at), b";"])


def _read_gif_blocks(data: bytes, at: int) -> Iterator[bytes]:
    while at < len(data) and data[at] != 0x3B:
        start = at
        if data[at] == 0x2C:  # an image, with its own colours
            at = _skip_sub_blocks(data, at + 11 + _measure_colour_table(data[at + 9]))
            yield data[start:at]
        elif data[at] == 0x21:
            label = data[at + 1]
            at = _skip_sub_blocks(data, at + 2)
            is_loop = label == _GIF_APPLICATION and data[start + 3 : start + 14] in _GIF_LOOPS
            if label == _GIF_CONTROL or is_loop:
                yield data[start:at]
        else:
            raise value_error("there is no block at byte %(at)s", at=at)


def _measure_colour_table(flags: int) -> int:
    """Return the length of a table of colours."""
    return 3 << ((flags & 7) + 1) if flags & 0x80 else 0


def _skip_sub_blocks(data: bytes, at: int) -> int:
    while at < len(data) and data[at]:
        at += 1 + data[at]
    return min(at + 1, len(data))


_PARTS: dict[str, Callable[[bytes], bytes]] = {
    "JPEG": _clean_jpeg,
    "PNG": _clean_png,
    "WEBP": _clean_webp,
    "GIF": _clean_gif,
    "BMP": bytes,  # has no place for anything else
}
