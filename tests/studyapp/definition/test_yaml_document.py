"""Tests of reading YAML files that anybody may send."""

import random
import time
from contextlib import suppress

import pytest

from studyapp.definition.definition_file import read_definition
from studyapp.definition.yaml_document import MAX_CHARACTERS, MAX_PROBLEMS, DefinitionError, read_document
from studyapp.studio.files import read_draft


def refused(text: str) -> str:
    with pytest.raises(DefinitionError) as caught:
        read_document(text, "study.yaml")
    return str(caught.value)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("a: 1\nb: 2027-02-30\n", "study.yaml:2: '2027-02-30' is not a valid timestamp"),
        ("a: !!int abc\n", "study.yaml:1: 'abc' is not a valid int"),
        ("a: !!bool perhaps\n", "study.yaml:1: 'perhaps' is not a valid bool"),
        ("a: !!timestamp noon\n", "study.yaml:1: 'noon' is not a valid timestamp"),
        (f"a: {'9' * 5000}\n", "study.yaml:1: cannot be read as a number; write text in quotes"),
        (
            "a: " + ":".join(["59"] * 2000),
            "study.yaml:1: cannot be read as a number; write text in quotes",
        ),
        ("a: .nan\n", "study.yaml:1: a: must be a finite number"),
        ("a: 1.0e+999\n", "study.yaml:1: a: must be a finite number"),
        ('a: "x\\0y"\n', "study.yaml:1: a: contains a character that cannot be stored"),
        ('a: "\\ud800"\n', "study.yaml:1: a: contains a character that cannot be stored"),
        ("a: !!set {b, c}\n", "study.yaml:1: a: must be text, a number, a date"),
        (
            "a: !!python/name:os.system x\n",
            "study.yaml:1: is not valid YAML: could not determine a constructor",
        ),
        ("a: !!binary aGk=\n", "study.yaml:1: a: must be text, a number, a date"),
        ("a:\n  b: &b [*b]\n", "study.yaml:2: is part of itself"),
        ("a: " + "[" * 60 + "]" * 60, "study.yaml:1: is nested too deeply"),
        ("a: " + "[" * 5000, "study.yaml:1: is nested too deeply"),
        (
            "x0: &x0 [1]\n" + "".join(f"x{n}: &x{n} [*x{n - 1}]\n" for n in range(1, 2000)),
            "is nested too deeply",
        ),
        (
            "x0: &x0 [1, 1]\n" + "".join(f"x{n}: &x{n} [*x{n - 1}, *x{n - 1}]\n" for n in range(1, 30)),
            "has too many parts",
        ),
        (
            "x0: &x0 {a: 1}\n"
            + "".join(f"x{n}: &x{n} {{<<: [{', '.join([f'*x{n - 1}'] * 4)}]}}\n" for n in range(1, 10)),
            "has too many parts",
        ),
        ("\n".join("{" + "a," * 5_000 for _ in range(21)), "study.yaml:10: has too many parts"),
        ("a" * (MAX_CHARACTERS + 1), "study.yaml:1: has more than 300000 characters"),
        ("? [a]\n: 1\n", "found unhashable key"),
        ("? {a: 1}\n: 1\n", "found unhashable key"),
        # Lists of pairs are the one place where a key may be a list.
        ("a: !!pairs [{? [b] : c}]\n", "study.yaml:1: a[1]: must be text, a number, a date"),
        ("a: !!omap [{? [b] : c}]\n", "study.yaml:1: a[1]: must be text, a number, a date"),
    ],
)
def test_a_bad_file_is_refused_in_one_sentence(text, sentence):
    assert sentence in refused(text)


@pytest.mark.parametrize("read", [read_definition, read_draft])
@pytest.mark.parametrize(
    "text", ["study: a\nscreening:\n" + "- {}\n" * 2_000, "\n".join(f"a{n}: 1" for n in range(20_000))]
)
def test_thousands_of_problems_are_refused_in_seconds(read, text):
    begun = time.process_time()
    with pytest.raises(DefinitionError) as error:
        read(text, "study.yaml")
    assert len(error.value.lines) <= MAX_PROBLEMS
    assert time.process_time() - begun < 10  # it took minutes


def test_a_key_that_is_given_a_thousand_times_is_named_so_often_as_is_shown():
    with pytest.raises(DefinitionError) as error:
        read_document("a: 1\n" * 1_000, "study.yaml")
    assert len(error.value.lines) == MAX_PROBLEMS


def test_what_people_write_is_read():
    text = "a: &text yes\nb: 0.5\nc: 2027-02-28\nd: {<<: {e: 1}, f: '12:30'}\ng: *text\n"
    _node, document = read_document(text, "study.yaml")
    assert (document["a"], document["b"], document["d"], document["g"]) == (
        True,
        0.5,
        {"e": 1, "f": "12:30"},
        True,
    )


def test_random_changes_of_a_file_are_read_or_refused():
    """Nothing but a definition's error comes out, whatever the bytes."""
    draw = random.Random(18)
    start = "study: a\nitems: {count: 3}\nprivacy: {retain_until: 2030-01-01}\nconsent: |\n  I agree.\n"
    parts = (
        "!!int ",
        "&a ",
        "*a",
        "<<: ",
        "- ",
        "? ",
        "[",
        "}",
        ": ",
        "0x",
        "1e9",
        ".inf",
        "\t",
        "\x85",
        "'",
    )
    for _ in range(600):
        text = list(start)
        for _ in range(draw.randint(1, 6)):
            text.insert(draw.randrange(len(text)), draw.choice(parts))
        with suppress(DefinitionError):
            read_document("".join(text), "study.yaml")
