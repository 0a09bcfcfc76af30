"""Rows of region features as detectors write them."""

import base64

import numpy as np


def array(numbers):
    """Return an array as float32 in base64."""
    return base64.b64encode(np.asarray(numbers, np.float32).tobytes()).decode()


def regions_row(name, boxes, features, size=(200, 100)):
    """Return a row in LXMERT's ten columns; boxes are in pixels."""
    cells = (name, str(size[1]), str(size[0]), "", "", "", "", str(len(boxes)), array(boxes), array(features))
    return "\t".join(cells) + "\n"
