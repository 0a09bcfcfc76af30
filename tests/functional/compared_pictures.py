"""Pictures of pages in a palette, compared with stored ones."""

from __future__ import annotations

import io
import os
from pathlib import Path

import numpy as np
from PIL import Image
from playwright.sync_api import Locator, Page

MOST_DIFFERENT = 0.005  # of the pixels
STEP = 24  # of 255, in one colour; less is the smoothing of letters
LOOKS = 6
# Texts that change from run to run: moments, and names that are drawn.
STILL = r"""() => {
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walk.nextNode()) {
    walk.currentNode.data = walk.currentNode.data
      .replace(/\d{4}-\d\d-\d\d( \d\d:\d\d(:\d\d)?)?/g, "2026-01-01")
      .replace(/127\.0\.0\.1:\d+/g, "model-server")
      .replace(/\b[0-9a-f]{12,}\b/g, "0123456789ab")
      .replace(/\b\d+(\.\d+)? (s|ms|min)\b/g, "1 $2");
  }
}"""


def page_of(shown: Page | Locator) -> Page:
    """The page that something is on."""
    return shown.page if isinstance(shown, Locator) else shown


def picture_of(shown: Page | Locator) -> Image.Image:
    """Return a picture of a page or a part of it, in a palette.

    Texts that change from run to run are replaced.
    """
    page_of(shown).evaluate(STILL)
    taken = Image.open(io.BytesIO(shown.screenshot())).convert("RGB")
    return taken.quantize(64, dither=Image.Dither.NONE)


def lasting_difference(shown: Page | Locator, path: Path, most: float = MOST_DIFFERENT) -> float:
    """Return the share of pixels by which a page differs from its picture.

    The page may be a part of one; a share that is small enough counts as 0. Scripts may still be at work on a
    busy machine, so a difference is looked at again.
    """
    expected = Image.open(path).convert("RGB")
    for _look in range(LOOKS):
        taken = picture_of(shown).convert("RGB")
        share = difference(expected, taken)
        if share <= most:
            return 0.0
        page_of(shown).wait_for_timeout(500)
    keep(taken, path.name)
    return share


def difference(first: Image.Image, second: Image.Image) -> float:
    """The share of pixels that differ visibly; 1 if the sizes do."""
    if first.size != second.size:
        return 1.0
    gap = np.abs(np.asarray(first, dtype=np.int16) - np.asarray(second, dtype=np.int16)).max(axis=2)
    return float((gap > STEP).mean())


def keep(picture: Image.Image, name: str) -> None:
    """Keep a picture that differs where SCREENSHOTS says, to be looked at."""
    folder = os.environ.get("SCREENSHOTS")
    if folder:
        picture.save(Path(folder) / name)
