"""The checker of words reads these files and refuses these sentences."""

from pathlib import Path

import pytest

from scripts import words


@pytest.fixture
def messages(tmp_path: Path, monkeypatch):
    """A function that writes a file and returns its findings with lines."""
    monkeypatch.setattr(words, "ROOT", tmp_path)

    def check(name: str, text: str) -> list[tuple[int, str]]:
        (tmp_path / name).write_text(text, "utf-8")
        return [(finding.line, finding.message) for finding in words.list_findings(name)]

    return check


RIDDLES = [
    ("a.py", '"""A module.\n\nWhat comes late is lost.\n"""\n', 1),  # words: allow - test data
    ("a.py", '"""A module: What comes\nlate is lost."""\n', 1),  # words: allow - test data
    ("a.py", "A = 1\n# How long a run takes.\n", 2),
    ("a.py", 'A = 1\nB = "Which answer counts is stored."\n', 2),
    ("a.py", 'A = 1\nB = f"{A} runs. Who comes late sees {A}."\n', 2),  # words: allow - test data
    ("a.js", "let a; // How long a run takes.\n", 1),
    ("a.js", "/**\n * A line.\n *\n * Which way the next\n * word lies.\n */\n", 1),
    ("a.js", 'let a;\nlet b = gettext("What the annotators marked");\n', 2),
    ("a.css", "p {}\n/* What every page has. */\n", 2),
    ("a.md", "# Runs\n\n## How a run is paid\n", 3),
    ("a.html", '<p>\n{% translate "How the size is estimated" %}\n', 2),
    ("a.html", "{% blocktranslate with a=b %}What stays: {{ a }} and others.{% endblocktranslate %}", 1),
    ("a.html", "{% blocktranslate %}One{% plural %}How many {{ a }} there are.{% endblocktranslate %}", 1),
    ("a.po", 'msgid "a"\nmsgstr "Was Teilnehmende tun"\n', 2),
    ("a.po", 'msgstr[1] "Es ist fertig. Wer zusah, sieht es."\n', 1),
]


@pytest.mark.parametrize(("name", "text", "line"), RIDDLES)
def test_a_riddle_is_found(messages, name, text, line):
    (finding,) = messages(name, text)
    assert finding[0] == line
    assert "riddle" in finding[1]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.py", "# Which of them counts?\n# How many are there?\n"),
        ("a.py", 'A = "How sure are you of that?"\n'),
        ("a.py", 'A = 1\nB = f"How many more {A} than {A} are there?"\n'),
        ("a.py", 'A = "Participants see how long a run takes."\n'),
        ("a.md", "# How to run a study\n"),
        ("a.js", 'let a = "https://example.org/What"; // See how long it takes.\n'),
        ("a.js", "let a = 1; // How long a run takes. words: allow - as an example\n"),
        ("a.css", "p { content: 'What next?'; }\n"),
        ("a.po", 'msgstr "Was tun Sie?"\n\nmsgstr "Wie oben, aber kürzer."\n'),
        ("a.js", "/* It fits. */ let what = How.it.works;\n"),
    ],
)
def test_other_sentences_are_not(messages, name, text):
    assert messages(name, text) == []


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.py", "# Newcomers get it.\n"),  # words: allow - test data
        ("a.py", '"""Start Anew."""\n'),  # words: allow - test data
        ("a.md", "Files are refused.\n"),  # words: allow - test data
        ("a.md", "The answer is kept.\n"),  # words: allow - test data
        ("a.js", "/** The same IN words. */\n"),  # words: allow - test data
        ("a.css", "/* for Whoever logs in */\n"),  # words: allow - test data
        ("a.html", "<button>Do it</button>\n"),  # words: allow - test data
        ("a.html", "<button>do it</button>\n"),  # words: allow - test data
    ],
)
def test_forbidden_words_are_found_in_any_case(messages, name, text):
    assert len(messages(name, text)) == 1


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("/* a */\nconst found = 1;\n", 1),
        ("let [a, made] = b;\n", 1),
        ("b.map(({ id, ...place }) => id);\n", 1),
        ("function see(one) {}\n", 1),
        ('const { said: statements } = a.place; // found\nlet b = { made: "one" };\n', 0),
    ],
)
def test_names_of_scripts_say_what_they_hold(messages, text, count):
    assert len(messages("a.js", text)) == count


@pytest.mark.parametrize(
    ("name", "text", "count"),
    [
        ("a.py", 'A = "{text!r} is no {kind}"\n', 1),  # words: allow - test data
        ("a.py", 'A = f"these {1} are no questions"\n', 1),  # words: allow - test data
        ("a.js", 'let a = gettext("It is no box.");\n', 1),  # words: allow - test data
        ("a.py", 'A = "There is no box, it is no longer there and is no wider than that."\n', 0),
        ("a.py", '"""A box that is no mark."""\n', 0),  # words: allow - test data
    ],
)
def test_messages_say_what_a_value_is_not(messages, name, text, count):
    assert len(messages(name, text)) == count


@pytest.mark.parametrize(
    ("name", "text", "count"),
    [
        ("a.py", 'A = "run python -m modelserver convert"\n', 1),  # words: allow - test data
        ("a.md", "```sh\npython manage.py migrate\n```\n", 1),  # words: allow - test data
        ("a.html", "<code>python -m analysis power</code>\n", 1),  # words: allow - test data
        ("a.md", "Run `.venv/bin/python -m analysis` or `python3 -m venv here`.\n", 0),
        ("a.py", 'build_command_line("python -m modelserver")\n', 0),  # words: allow - test data
    ],
)
def test_commands_run_as_typed(messages, name, text, count):
    assert len(messages(name, text)) == count


def test_the_end_of_a_sentence_may_do_it(messages):
    assert messages("a.py", "# Only the owner can do it.\n") == []


def test_scripts_and_styles_are_read():
    paths = words.list_tracked_files(["static"])
    assert "static/js/frame.js" in paths
    assert "static/css/frame.css" in paths
