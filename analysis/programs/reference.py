"""Writes the reference page of the program language from its own tables.

``python -m analysis.programs.reference > docs/reference/programs.md``; a test compares the two.
"""

import sys

from .drop import QUESTION_TYPES, QuestionType
from .errors import ProgramError
from .lines import print_lines
from .modules import ALIASES, MODULES, Kind, Module
from .program import describe
from .text import format_indented, parse

_EXAMPLE = "equal(count(find[dogs]), count(filter[black](find[dogs])))"
_WRONG = "equal(count(find[dogs]), exist(find[cats]))"

_ABOUT = f"""\
<!-- Made by `.venv/bin/python -m analysis.programs.reference`: change the code's tables, not this page. -->
# Programs

A program says in steps how a sentence about two images, or a question about a passage, is to be \
decided. Each step is a module; each has an output that can be drawn, chosen or computed, and scored.

```
{_EXAMPLE}
```

The package `analysis.programs` reads, checks, prints and executes programs.

```python
from analysis.programs import parse, execute

program = parse("{_EXAMPLE}", kind="boxes")
program.walk  # {parse(_EXAMPLE, kind="boxes").walk}: the order of work
dog, puppy = (0, (0.1, 0.2, 0.4, 0.9)), (1, (0.5, 0.5, 0.8, 0.9))
execute(program, {{2: [dog, puppy], 4: [puppy]}})  # (False, 2, 2, 1, 1, 2)
```

## Writing one

A module’s inputs stand in `( )`, its argument in `[ ]`. Names may be typed with spaces, underscores or \
hyphens, in any case; they print with hyphens. Inside an argument a backslash takes the next character \
as it is: write `\\[`, `\\]` and `\\\\` for those characters, and `\\n`, `\\r`, `\\t` for a line break, \
a carriage return and a tab. White space around an argument does not count unless it is escaped. A \
printed program reads back as the same program, whatever the arguments hold.

The same program as lines, one module each, its depth shown by dots (`parse_lines`, `print_lines`), and \
laid out for people (`pretty`):

```
{{lines}}
```

```
{{pretty}}
```

In the released table of Subramanian et al. (2020), arguments of lines are positions of the sentence’s \
tokens; `parse_lines(…, tokens=…)` makes them words.

An error names line and column:

```
{{error}}
```

## Nodes

`program.nodes` are in pre-order, the root first. Each has `module`, `argument`, `children`, `parent`, \
`depth`, `type` and `role`; `describe(node)` names it for people: {{described}}.

| role | what a person does there |
|---|---|
| draw | marks any object |
| choose | takes some of the first input’s objects; the type is that of the first input |
| link | marks new objects and says which of the input’s each belongs to |
| compute | nothing: it follows from the inputs |

Equal subtrees have one output. `program.representative` gives for each node the first that is equal to \
it, and `program.walk` lists the representatives bottom-up.

Types are {{types}}. Numbers and dates are places in the passage that state one; a number is a bare value.
"""

_EXECUTION = """\
## Execution

`execute(program, outputs)` gives the value of every node from the objects at the representatives; `run` \
gives the objects too. A node without objects is unknown (`None`), and so is all that depends on it; an \
empty list says that nothing is there. Of boxes and spans the value is how many there are, of numbers \
and dates the one that they state.

Over boxes this is Table 3 of Subramanian et al. (2020) with every probability 0 or 1. Boxes in an image \
that a module below kept out do not count, since `filter`, `with-relation` and `project` multiply by \
what they are given. With `as_drawn=True` they do: on the released gold of both splits, without the 7 \
programs that use `intersect`, that contradicts the label in 61 of 680 examples, and the stricter \
reading in 46 (`tests/analysis/programs/test_released.py`). `intersect` and `discard` take two boxes for \
the same object when they overlap by more than half (intersection over union), unless somebody chose \
there.

`in-each-image`, `in-at-least-one-image` and `in-one-other-image` run what is below them twice. If \
the two runs differ, a node below has no single value; `Execution.runs` has both.

Over spans a number or date is read from the quote (`number_of`, `date_of`) unless the object carries a \
value. If it cannot be read, if one node states several, or if two that are compared are equal, \
the result is unknown. `find-max-num` and `find-min-num` are computed unless somebody chose. They and \
the comparing modules also take events themselves, as the papers write them (`find-max-num(find[field \
goal])`); the quote of an event must then state its number.

`agrees(program, execution, answer)` compares the outcome with a label or an answer.
"""

_DROP = """\
## Question types of DROP

The released annotations name a question type; `program_of(qtype, arguments, question=…)` makes its \
program, and `lists_of(qtype)` says which nodes each annotated list is about. Without arguments the two \
events of `yeardiff_find2_qtype` cannot be distinguished: its program is then that of \
`yeardiff_find_qtype`.

| question type | program | lists |
|---|---|---|
"""


def build_page() -> str:
    """Return the whole page, in Markdown."""
    parts = [_build_about(), *(_build_table(kind) for kind in MODULES), _EXECUTION, _build_drop()]
    return "\n".join(parts)


def _build_about() -> str:
    program = parse(_EXAMPLE, kind="boxes")
    types = dict.fromkeys(m.output for kind in MODULES for m in MODULES[kind].values() if m.output)
    filled = {
        "lines": print_lines(program),
        "pretty": format_indented(program, 40),
        "error": _capture_error(),
        "described": ", ".join(dict.fromkeys(describe(node) for node in program.nodes)),
        "types": ", ".join(f"`{type_}`" for type_ in types),
    }
    text = _ABOUT
    for name, value in filled.items():
        text = text.replace(f"{{{name}}}", value)
    return text


def _capture_error() -> str:
    try:
        parse(_WRONG, kind="boxes")
    except ProgramError as error:
        return str(error)
    raise AssertionError(f"{_WRONG} should not be a program")


def _build_table(kind: Kind) -> str:
    title = {"boxes": "Modules over boxes in two images", "spans": "Modules over spans of a passage"}[kind]
    rows = [_build_row(module) for module in MODULES[kind].values() if not module.name.isdecimal()]
    if "0" in MODULES[kind]:
        rows.append("| `0` to `9` | optional | | number | compute | that number; the argument is its word |")
    other = ", ".join(f"`{alias}` for `{name}`" for alias, name in ALIASES[kind].items())
    head = ["| module | argument | inputs | gives | role | meaning |", "|---|---|---|---|---|---|"]
    return "\n".join([f"## {title}", "", *head, *rows, "", f"Also read: {other}.", ""])


def _build_row(module: Module) -> str:
    argument = " or ".join(f"`{choice}`" for choice in module.choices) or module.argument.replace("none", "")
    inputs = ["/".join(types) for types in module.inputs]
    given = inputs[: module.least] + [f"({optional_input})" for optional_input in inputs[module.least :]]
    output = module.output or "as its first input"
    return (
        f"| `{module.name}` | {argument} | {', '.join(given)} | {output} | {module.role} | {module.meaning} |"
    )


def _build_drop() -> str:
    rows = [
        f"| `{name}` | `{_mark_direction(form)}` | {', '.join(f'`{listed}`' for listed, _ in form.lists)} |"
        for name, form in QUESTION_TYPES.items()
    ]
    return _DROP + "\n".join([*rows, ""])


def _mark_direction(form: QuestionType) -> str:
    """Return a question type's program, with a gap for the direction.

    The question gives the direction.
    """
    return form.program.replace(form.direction, f"{form.direction}[…]", 1) if form.direction else form.program


if __name__ == "__main__":
    sys.stdout.write(build_page())
