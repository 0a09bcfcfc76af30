"""Every text on the pages of participants is there in German, compiled and with its placeholders."""

import gettext
import re
from pathlib import Path

import pytest
from django.conf import settings

ROOT = Path(settings.BASE_DIR)
CATALOGUE = ROOT / "locale" / "de" / "LC_MESSAGES" / "django.mo"
PAGES = sorted((ROOT / "templates" / "studyapp" / "participant").glob("*.html"))
PROGRAMS = [
    ROOT / "studyapp" / name
    for name in (
        *("answers.py", "forms.py", "policies.py", "actions/participants.py", "views/participants.py"),
        *("views/recruitment.py", "program_words.py", "step_pages.py"),
    )
]
_TRANSLATE = re.compile(r"""{% translate (?:"([^"]+)"|'([^']+)')""")
_BLOCK = re.compile(r"{% blocktranslate([^%]*)%}(.*?){% endblocktranslate %}", re.DOTALL)
_CALL = re.compile(r"""\b_\(\s*((?:"[^"]*"\s*)+)\)""")


def german() -> dict:
    with CATALOGUE.open("rb") as file:
        return gettext.GNUTranslations(file)._catalog  # type: ignore[attr-defined]


def texts_of_page(path: Path) -> set[str]:
    content = path.read_text(encoding="utf-8")
    found = {one or other for one, other in _TRANSLATE.findall(content)}
    for _options, block in _BLOCK.findall(content):
        first = block.split("{% plural %}")[0]
        found.add(re.sub(r"{{ (\w+) }}", r"%(\1)s", " ".join(first.split())))
    return found


def texts_of_program(path: Path) -> set[str]:
    calls = _CALL.findall(path.read_text(encoding="utf-8"))
    return {"".join(re.findall(r'"([^"]*)"', call)) for call in calls}


@pytest.mark.parametrize("path", [*PAGES, *PROGRAMS], ids=lambda path: path.name)
def test_every_text_is_translated(path):
    texts = texts_of_page(path) if path.suffix == ".html" else texts_of_program(path)
    assert texts or path.name in ("base.html", "message.html", "picture.html")
    known = german()
    untranslated = [text for text in texts if text not in known and (text, 0) not in known]
    assert untranslated == [], "add them to locale/de and run: python manage.py compilemessages --locale de"


def test_placeholders_stay():
    for original, translated in german().items():
        text = original[0] if isinstance(original, tuple) else original
        if text and not isinstance(original, tuple):
            assert sorted(re.findall(r"%\(\w+\)[ds]", text)) == sorted(
                re.findall(r"%\(\w+\)[ds]", translated)
            )


def test_the_compiled_catalogue_is_that_of_the_text():
    """By the number of messages and by each translation: a text that was not compiled would not be shown."""
    source = CATALOGUE.with_suffix(".po").read_text(encoding="utf-8")
    translated = set(re.findall(r'^msgstr(?:\[\d\])? "(.+)"$', source, re.MULTILINE))
    compiled = {text.replace("\\", "\\\\").replace('"', '\\"') for key, text in german().items() if key}
    assert compiled == translated
