"""Style sheets of one page do not use the same class for two things.

The words of the editor were once all underlined, because participants' highlights had the same name.
"""

import re
from itertools import combinations
from pathlib import Path

from django.conf import settings

FOLDER = Path(settings.BASE_DIR) / "static/css"
# The style sheets that pages load together.
TOGETHER = (
    ("touchstone", "annotation"),
    ("touchstone", "frame", "annotation"),
    ("touchstone", "frame", "studio"),
    ("touchstone", "frame", "steps"),
    ("touchstone", "frame", "results"),
    ("touchstone", "steps", "questions"),
    ("touchstone", "start"),
)


def own_classes(name: str) -> set[str]:
    """Return the classes that a style sheet gives a look of their own.

    Classes with a look only within something else are left out.
    """
    css = re.sub(r"/\*.*?\*/", "", (FOLDER / f"{name}.css").read_text(encoding="utf-8"), flags=re.DOTALL)
    selectors = (
        selector.strip() for group in re.findall(r"([^{}]+)\{", css) for selector in group.split(",")
    )
    return {match[1] for selector in selectors if (match := re.fullmatch(r"\.([a-zA-Z][\w-]*)", selector))}


def test_it_reads_the_classes():
    assert {"card", "button", "weight"} <= own_classes("touchstone")
    assert "token" in own_classes("annotation")


def test_no_class_is_meant_twice_on_a_page():
    twice = {
        (name, other): shared
        for names in TOGETHER
        for name, other in combinations(names, 2)
        if (shared := own_classes(name) & own_classes(other))
    }
    assert twice == {}
