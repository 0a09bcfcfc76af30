"""Every text of every page, mail and script is there in German.

That holds for participants, staff and annotators.
"""

import ast
import gettext
import re
from pathlib import Path

import pytest
from django.apps import apps
from django.conf import settings
from django.test import RequestFactory
from django.utils import translation
from django.views.defaults import server_error

from analysis.participants import estimates, measures
from analysis.participants.tasks import TASKS
from annotation.content.label_templates import TEMPLATES
from annotation.content.labels import LabelTask
from annotation.forms.projects import build_template_layers
from studyapp.definition.participation.suspicion_flags import FLAGS
from studyapp.definition.questions.scales import SCALES
from studyapp.queries.participants.flag_labels import FLAG_LABELS

ROOT = Path(settings.BASE_DIR)
CATALOGUES = {name: ROOT / "locale/de/LC_MESSAGES" / f"{name}.mo" for name in ("django", "djangojs")}
SCRIPTS = sorted((ROOT / "static/js/annotation").rglob("*.js"))
# The .txt files are mails and messages.
PAGES = sorted(path for kind in ("html", "txt") for path in (ROOT / "templates").rglob(f"*.{kind}"))
PROGRAMS = [
    path
    for app in ("accounts", "annotation", "config", "jobs", "predictions", "studyapp")
    for path in sorted((ROOT / app).rglob("*.py"))
    if "django.utils.translation import" in path.read_text(encoding="utf-8")
]
# Models whose choices no page shows.
UNSEEN = {"PredictionRun", "Participant", "Item", "Event", "Dataset"}
_TRANSLATE = re.compile(r"""{% translate (?:"([^"]+)"|'([^']+)')""")
_FILTER = re.compile(r"""{{[^}]*:_\("([^"]+)"\)""")
_BLOCK = re.compile(r"{% blocktranslate([^%]*)%}(.*?){% endblocktranslate %}", re.DOTALL)
_SCRIPT_CALL = re.compile(r"""\bn?gettext\(\s*"([^"]+)\"""")
_CALL = re.compile(r"""\b(?:_|gettext|translated|ngettext)\(\s*((?:"[^"]*"\s*)+)[,)]""")


def translations(name: str) -> dict:
    with CATALOGUES[name].open("rb") as file:
        return gettext.GNUTranslations(file)._catalog  # type: ignore[attr-defined]


@pytest.fixture(scope="module")
def german() -> dict:
    return translations("django")


def texts_of_page(path: Path) -> set[str]:
    content = path.read_text(encoding="utf-8")
    # A per cent sign is doubled, as in the catalogue: single ones begin placeholders.
    texts = {
        (double_quoted or single_quoted).replace("%", "%%")
        for double_quoted, single_quoted in _TRANSLATE.findall(content)
    }
    texts |= set(_FILTER.findall(content))
    for _options, block in _BLOCK.findall(content):
        first = block.split("{% plural %}")[0]
        texts.add(re.sub(r"{{ (\w+) }}", r"%(\1)s", " ".join(first.split()).replace("%", "%%")))
    return texts


def texts_of_program(path: Path) -> set[str]:
    calls = _CALL.findall(path.read_text(encoding="utf-8"))
    return {"".join(map(ast.literal_eval, re.findall(r'"[^"]*"', call))) for call in calls}


def test_it_reads_pages_and_programs():
    pages, programs = map(texts_of_page, PAGES), map(texts_of_program, PROGRAMS)
    texts = set().union(*pages, *programs)
    assert len(texts) > 600
    assert {"Next item", "Review the draft", "Replaced the draft by the file."} <= texts
    assert {"Unknown browser", "Otherwise ignore this mail."} <= texts


@pytest.mark.parametrize("path", [*PAGES, *PROGRAMS], ids=lambda path: f"{path.parent.name}/{path.name}")
def test_every_text_is_translated(path, german):
    texts = texts_of_program(path) if path.suffix == ".py" else texts_of_page(path)
    untranslated = [text for text in texts if not (german.get(text) or german.get((text, 0)))]
    assert untranslated == [], (
        "add them to locale/de and run: .venv/bin/python manage.py compilemessages --locale de"
    )


def test_every_reason_of_a_missing_estimate_is_translated(german):
    reasons = {text for name, text in vars(estimates).items() if name.isupper() and isinstance(text, str)}
    assert {estimates.NO_ADVICE, estimates.UNDEFINED} <= reasons
    # The page says "not asked" in its own words.
    assert [text for text in reasons - {estimates.NOT_ASKED} if not german.get(text)] == []


def test_every_flag_has_a_german_label(german):
    assert FLAG_LABELS.keys() == set(FLAGS)
    with translation.override("en"):
        assert [label for label in map(str, FLAG_LABELS.values()) if not german.get(label)] == []


def test_every_measure_is_translated(german):
    general = [group for group in vars(measures).values() if isinstance(group, tuple)]
    all_measures = {
        measure for group in general for measure in group if isinstance(measure, measures.Measure)
    }
    all_measures |= {measure for task in TASKS.values() for measure in task.measures}
    assert len(all_measures) > 40
    texts = {text for measure in all_measures for text in (measure.label, measure.definition)}
    # "TP / n" is the same in both languages.
    assert [text for text in texts if re.search("[a-z]{3}", text) and not german.get(text)] == []


def test_published_scales_are_named_in_german(german):
    texts = {text for scale in SCALES.values() for text in (scale.title, scale.measures, scale.source)}
    assert [text for text in texts if not german.get(text)] == []


def texts_within(value: object) -> set[str]:
    """All texts in nested lists and dictionaries, without the types of layers."""
    if isinstance(value, dict):
        return set().union(*(texts_within(child) for key, child in value.items() if key != "type"))
    if isinstance(value, list):
        return set().union(*map(texts_within, value))
    return {value} if isinstance(value, str) else set()


def test_templates_of_labels_are_in_the_language_of_the_page(german):
    texts = texts_within(list(TEMPLATES.values()))
    assert {"Person", "works for", "Small mistakes"} <= texts
    assert [text for text in texts if not german.get(f"label template\x04{text}")] == []
    with translation.override("de"):
        for name in TEMPLATES:
            assert LabelTask.model_validate({"layers": build_template_layers(name)})
        condition = build_template_layers("counterfactual")[2]["show_if"]
    assert condition == {"layer": "Sprache", "labels": ["Kleine Fehler", "Falsch"]}


def texts_at_import(node: ast.AST, names: set[str]) -> set[str]:
    """Return the texts that a module or its classes translate once.

    The language is that of the first import.
    """
    texts: set[str] = set()
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            continue
        if isinstance(child, ast.Call) and isinstance(child.func, ast.Name) and child.func.id in names:
            texts.add(ast.unparse(child))
        texts |= texts_at_import(child, names)
    return texts


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_no_text_is_translated_at_import(path):
    module = ast.parse(path.read_text(encoding="utf-8"))
    imports = [node for node in module.body if isinstance(node, ast.ImportFrom)]
    names = {
        name.asname or name.name
        for statement in imports
        if statement.module == "django.utils.translation"
        for name in statement.names
        if name.name in ("gettext", "ngettext", "pgettext")
    }
    assert texts_at_import(module, names) == set()


@pytest.mark.parametrize(("app", "least"), [("accounts", 10), ("annotation", 11), ("studyapp", 11)])
def test_choices_that_pages_show_are_translated(app, least):
    """The labels of a field are translated if a page shows its display.

    The fields are states, roles and kinds.
    """
    shown = {name for path in PAGES for name in re.findall(r"get_(\w+)_display", path.read_text("utf-8"))}
    labels = {
        str(label): label
        for model in apps.get_app_config(app).get_models()
        for field in model._meta.get_fields()
        if field.name in shown and getattr(field, "choices", None) and model.__name__ not in UNSEEN
        for _value, label in field.choices
    }
    assert len(labels) >= least
    with translation.override("de"):
        german = {text: {str(label), translation.gettext(text)} for text, label in labels.items()}
        same = {text for text, german_texts in german.items() if german_texts == {text}}
    assert same <= {"Bonus", "Bot", "Item", "Running"}, "mark them in the model and add them to locale/de"


def test_the_scripts_and_their_catalogue_have_the_same_texts():
    calls = {text for path in SCRIPTS for text in _SCRIPT_CALL.findall(path.read_text(encoding="utf-8"))}
    catalogue = {key[0] if isinstance(key, tuple) else key for key in translations("djangojs") if key}
    assert len(calls) > 200
    assert calls == catalogue, "locale/de/LC_MESSAGES/djangojs.po and static/js/annotation have come apart"


def test_scripts_get_their_texts_in_the_language_of_the_page(client):
    answer = client.get("/words/de/", headers={"Accept-Language": "en"})
    assert answer["Content-Type"].startswith("text/javascript")
    assert "max-age" in answer["Cache-Control"]
    assert '"Submit": "Abgeben"' in answer.content.decode()
    assert '"Submit": "Abgeben"' not in client.get("/words/en/").content.decode()
    assert client.get("/words/xx/").status_code == 404


def test_a_failure_is_told_in_german_without_anything_of_the_page():
    with translation.override("de"):
        html = server_error(RequestFactory().get("/")).content.decode()
    assert '<html lang="de">' in html
    assert "Bei uns ist etwas schiefgegangen" in html


@pytest.mark.parametrize("name", CATALOGUES)
def test_placeholders_stay(name):
    for original, translated in translations(name).items():
        text = original[0] if isinstance(original, tuple) else original
        if text and not isinstance(original, tuple):
            assert sorted(re.findall(r"%\(\w+\)[ds]", text)) == sorted(
                re.findall(r"%\(\w+\)[ds]", translated)
            )


@pytest.mark.parametrize("name", CATALOGUES)
def test_the_compiled_catalogue_is_that_of_the_text(name):
    """The compiled catalogue has each message and each translation.

    A text that was not compiled would not be shown.
    """
    source = CATALOGUES[name].with_suffix(".po").read_text(encoding="utf-8")
    translated = set(re.findall(r'^msgstr(?:\[\d\])? "(.+)"$', source, re.MULTILINE))
    compiled = {
        text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
        for key, text in translations(name).items()
        if key
    }
    assert compiled == translated
