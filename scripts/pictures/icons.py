"""Draws the sprite of the site's icons from Lucide (ISC licence).

Run it after adding a name: ``python -m scripts.pictures.icons``.
"""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "node_modules" / "lucide-static" / "icons"
SPRITE = ROOT / "static" / "img" / "icons.svg"
# The name on our pages, and the name that Lucide has for it.
ICONS = {
    "account": "circle-user",
    "add": "plus",
    "aim": "locate-fixed",
    "annotation": "square-pen",
    "arrow": "arrow-right",
    "bot": "bot",
    "box": "square-plus",
    "chart": "chart-column",
    "check": "check",
    "clock": "clock",
    "click": "mouse-pointer-click",
    "close": "x",
    "contrast": "contrast",
    "copy": "copy",
    "crosshair": "crosshair",
    "data": "database",
    "delete": "trash-2",
    "density": "align-justify",
    "down": "chevron-down",
    "download": "download",
    "edit": "pencil",
    "expand": "maximize-2",
    "external": "external-link",
    "file": "file-text",
    "filter": "list-filter",
    "flag": "flag",
    "hand": "hand",
    "image": "image",
    "info": "info",
    "key": "key-round",
    "keyboard": "keyboard",
    "language": "languages",
    "letters": "case-sensitive",
    "link": "link",
    "lock": "lock",
    "logout": "log-out",
    "message": "message-square",
    "minus": "minus",
    "open": "eye",
    "panel-left": "panel-left",
    "panel-right": "panel-right",
    "pause": "pause",
    "people": "users",
    "play": "play",
    "redo": "redo-2",
    "refresh": "refresh-cw",
    "right": "chevron-right",
    "search": "search",
    "settings": "settings",
    "studies": "flask-conical",
    "systems": "server",
    "theme": "sun-moon",
    "turn": "rotate-cw",
    "undo": "undo-2",
    "upload": "upload",
    "warning": "triangle-alert",
    "webhook": "webhook",
}


def build_sprite() -> str:
    """Return the sprite: a symbol for each icon."""
    symbols = []
    for name, source in ICONS.items():
        drawing = (SOURCE / f"{source}.svg").read_text(encoding="utf-8")
        _start, _svg, inside = drawing.partition("<svg")
        shapes = re.sub(r"\s+", " ", inside.partition(">")[2].replace("</svg>", "")).strip()
        symbols.append(f'<symbol id="{name}" viewBox="0 0 24 24">{shapes}</symbol>')
    licence = "<!-- Lucide icons, ISC licence, copyright Lucide Icons and Contributors; see NOTICE. -->"
    return "\n".join(['<svg xmlns="http://www.w3.org/2000/svg">', licence, *symbols, "</svg>"]) + "\n"


if __name__ == "__main__":
    SPRITE.write_text(build_sprite(), encoding="utf-8")
