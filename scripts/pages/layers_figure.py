"""Draw packages, layers and imports.

Run ``python -m scripts.pages.layers_figure``. Packages are rooms, the layers of the import contracts are
floors, imports are arrows. The figure goes into docs/images/layers.svg, and the table for the ADR is printed.
"""

import tomllib
from collections import Counter
from html import escape
from textwrap import wrap

import grimp

from scripts.sites.processes import ROOT

FIGURE = ROOT / "docs" / "images" / "layers.svg"
# Modules side by side and imports between them in 0.1, counted before the move.
BEFORE = {"studyapp": (61, 216), "modelserver": (47, 184), "analysis": (68, 303)}
INK, MUTED, LINE, FILL, CHIP = "#1f2328", "#57606a", "#8c959f", "#f6f8fa", "#dbe9f9"
LEGEND = (
    "A frame is a package, a row a layer, a",
    "blue box an entry: a file or a folder.",
    "Entries import only from rows below.",
    "Numbers count imports of modules.",
)
WIDTH, LEFT, PAD, ROW, DOT = 1080, 250, 10, 21, 13


def read_contracts() -> tuple[list[list[str]], dict[str, list[list[str]]]]:
    """Return the layers of packages, and for each package the layers inside."""
    table = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["importlinter"]
    outer: list[list[str]] = []
    inner: dict[str, list[list[str]]] = {}
    for contract in table["contracts"]:
        if contract["type"] != "layers":
            continue
        layers = [[name.strip() for name in layer.split("|")] for layer in contract["layers"]]
        if containers := contract.get("containers"):
            inner[containers[0]] = layers
        else:
            outer = layers
    return outer, inner


def count_imports() -> tuple[
    Counter[tuple[str, str]], dict[str, Counter[tuple[str, str]]], dict[str, set[str]]
]:
    """Count imports of modules.

    Returns:
        Imports between packages; inside each package between its entries;
        and the entries of each package.
    """
    packages = [name for layer in read_contracts()[0] for name in layer]
    graph = grimp.build_graph(*packages, cache_dir=None)
    between: Counter[tuple[str, str]] = Counter()
    inside: dict[str, Counter[tuple[str, str]]] = {name: Counter() for name in packages}
    entries: dict[str, set[str]] = {name: set() for name in packages}
    for module in sorted(name for name in graph.modules if ".migrations" not in name):
        package, _, rest = module.partition(".")
        if rest:
            entries[package].add(rest.partition(".")[0])
        for imported in graph.find_modules_directly_imported_by(module):
            other, _, name = imported.partition(".")
            pair = rest.partition(".")[0], name.partition(".")[0]
            if other != package:
                between[package, other] += 1
            elif all(pair) and pair[0] != pair[1]:
                inside[package][pair] += 1
    return between, inside, entries


def draw_figure() -> str:
    """Return the figure as SVG."""
    outer, inner = read_contracts()
    between, inside, entries = count_imports()
    body, top = _draw_before(), 40
    for layer in outer:
        width = (WIDTH - LEFT - PAD * (len(layer) + 1)) / len(layer)
        floors = [inner.get(name) or _split_into_rows(sorted(entries[name])) for name in layer]
        height = ROW * max(map(len, floors)) + 60
        for at, name in enumerate(layer):
            x = LEFT + PAD + at * (width + PAD)
            arrows = sum(inside[name].values())
            title = f"{len(entries[name])} entries, {arrows} imports between them"
            body += _draw_box(x, top, width, height, name, title)
            body += _draw_floors(x, top + 24, width, floors[at])
            targets = [(count, other) for (source, other), count in between.items() if source == name]
            text = ", ".join(f"{other} {count}" for count, other in sorted(targets, reverse=True))
            lines = wrap("imports " + (text or "no other package"), int(width / 6.2))
            for number, line in enumerate(lines):
                body += _draw_text(x + 8, top + height - 8 - 14 * (len(lines) - 1 - number), line, 11, MUTED)
        top += height + PAD
    body += _draw_text(
        LEFT + PAD, 26, "After: imports only lead downwards, between packages and within", 15, INK, "bold"
    )
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {top}" font-family="sans-serif">'
    return f'{head}\n<rect width="{WIDTH}" height="{top}" fill="white"/>\n{body}</svg>\n'


def _split_into_rows(names: list[str]) -> list[list[str]]:
    """Return names without layers in rows of six."""
    return [names[at : at + 6] for at in range(0, len(names), 6)]


def _draw_before() -> str:
    body, top = _draw_text(PAD, 26, "Before: no floors", 15, INK, "bold"), 40.0
    for name, (modules, arrows) in BEFORE.items():
        rows = -(-modules // 15)
        height = rows * DOT + 62
        body += _draw_box(PAD, top, LEFT - 2 * PAD, height, name, "")
        for at in range(modules):
            x, y = PAD + 10 + at % 15 * DOT, top + 28 + at // 15 * DOT
            size = f'width="{DOT - 4}" height="{DOT - 4}"'
            body += f'<rect x="{x}" y="{y}" {size} fill="{CHIP}" stroke="{LINE}"/>\n'
        body += _draw_text(PAD + 8, top + height - 22, f"{modules} modules side by side,", 11, MUTED)
        body += _draw_text(PAD + 8, top + height - 8, f"{arrows} imports between them", 11, MUTED)
        top += height + PAD
    for number, line in enumerate(LEGEND):
        body += _draw_text(PAD, top + 14 + 16 * number, line, 11, MUTED)
    return body


def _draw_box(x: float, y: float, width: float, height: float, name: str, note: str) -> str:
    frame = f'x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}"'
    rect = f'<rect {frame} rx="6" fill="{FILL}" stroke="{LINE}"/>'
    return f"{rect}\n{_draw_text(x + 8, y + 17, name, 13, INK, 'bold')}" + _draw_text(
        x + width - 8, y + 17, note, 11, MUTED, anchor="end"
    )


def _draw_floors(x: float, top: float, width: float, floors: list[list[str]]) -> str:
    body = ""
    for at, names in enumerate(floors):
        room = (width - 16 - 4 * (len(names) - 1)) / len(names)
        for column, name in enumerate(names):
            left, y = x + 8 + column * (room + 4), top + at * ROW
            body += (
                f'<rect x="{left:g}" y="{y:g}" width="{room:g}" height="{ROW - 3}" rx="3" fill="{CHIP}"/>\n'
            )
            size = min(11.0, 1.75 * room / len(name))
            body += _draw_text(left + room / 2, y + 13, name, size, INK, anchor="middle")
    return body


def _draw_text(
    x: float, y: float, text: str, size: float, colour: str, weight: str = "normal", anchor: str = "start"
) -> str:
    attributes = f'x="{x:g}" y="{y:g}" font-size="{size:g}" fill="{colour}"'
    return f'<text {attributes} font-weight="{weight}" text-anchor="{anchor}">{escape(text)}</text>\n'


def format_table() -> str:
    """Return the table of the ADR in Markdown."""
    _, inside, entries = count_imports()
    lines = [
        "| package | entries before | imports | entries after | imports | pairs of entries |",
        "|---|--:|--:|--:|--:|--:|",
    ]
    for name, arrows in inside.items():
        modules, old = BEFORE.get(name, ("–", "–"))
        now = f"{len(entries[name])} | {sum(arrows.values())} | {len(arrows)}"
        lines.append(f"| `{name}` | {modules} | {old} | {now} |")
    return "\n".join(lines)


if __name__ == "__main__":
    FIGURE.write_text(draw_figure(), "utf-8")
    print(format_table())
