"""Check the words of code, pages and docs: ``python -m scripts.words``.

The rules: a docstring begins with one line of at most 72 characters, no
sentence opens with a riddle ("Who comes late is told"), the field's terms
are used in place of private ones, and no name that lives longer than a
comprehension says nothing about what it holds. `FORBIDDEN` is the list. It
reads comments and strings of code and styles, pages, docs and catalogues; a
line that has to break a rule ends with ``words: allow`` and the reason.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tokenize
from collections.abc import Iterator
from typing import NamedTuple

from scripts.sites.processes import ROOT

LONGEST_SUMMARY = 72
ALLOWED = "words: allow"
NAMES = frozenset({"found", "known", "made", "one", "place", "said", "told"})
# In JavaScript: not the names of properties. Uses are found, too, not only declarations.
VARIABLE = re.compile(rf"(?:(?<![.\w$-])|(?<=\.\.\.))(?:{'|'.join(sorted(NAMES))})\b(?!\s*:)")
RIDDLE = re.compile(
    r"(?:^|(?<=[.!:] ))(Who|Whoever|Whose|What|Whatever|Whether|Where|Which|How(?! to\b))\b"
    r"(?!\s+(?:is|are|was) the\b)(?P<rest>[^?]*?)(?P<end>[.!?](?:\s|$)|$)"
)
GERMAN_RIDDLE = re.compile(
    r"(?:^|(?<=[.!:] ))(?:We[rmn]|Was|Wann|Wo|Ob|Welche[mnrs]?|Wie (?:viele?|lange|oft|sehr|gut))\b"
    r"[^?.!]*(?:[.!]|$)"
)
FORBIDDEN = {
    r"\banew\b": "again",
    r"\b(?:is|are|was|were|be|been) told\b": "say who sees or receives it: the participant sees a message",
    r"\b(?:is|are) (?:refused|kept)\b": "say who does: the importer refuses, the site keeps",
    r"\bwhoever\b": "name the person",
    r"\bnewcomers?\b": "new participants",
    r"\bputs? out\b": "predicts; model outputs",
    r"\bis no (?:id|file|number|text|web address|name|system|place)\b": "is not a ...",
    r"\b(?:study|each|one|an?|every|both) arms?\b": "condition",
    r"\bhow far (?:the|a) \w+ is\b": "progress",
    r"\btakes? (?:a|one) (?:person|participant) out\b": "remove a participant",
    r"\bagreement between people\b": "inter-annotator agreement",
    r"\bin words\b": "message, label",
    r"\b(?:interim )?looks? (?:at|before) (?:the|a) (?:running study|end)\b": "interim analysis",
    r"(?:^|[>\"])do it\b": "name the act",
}
PATTERNS = [(re.compile(pattern, re.IGNORECASE), better) for pattern, better in FORBIDDEN.items()]
# Of messages: not "there is no file", "is no longer valid" or "is no wider than".
NO_NOUN = re.compile(r"(?<!there )\b(?:is|are) no (?!(?:longer|more)\b|\w+er than\b)", re.IGNORECASE)
# A command that does not run as typed: it lacks .venv/bin/. A text that begins with it names a parser.
BARE_COMMAND = re.compile(
    r"(?<![/\w])python3? (?:manage\.py|-m (?:analysis|benchmarks|config|modelserver|scripts)\b)"
)
# A text of a template: of a tag, in a block with its plural, or between elements.
PAGE_TEXT = re.compile(
    r"trans(?:late)? \"([^\"]+)\"|(?:blocktrans(?:late)?\b[^%]*|plural )%\}(.*?)\{%|>([^<>{}]+)<"
)
CATALOGUE_TEXT = re.compile(r"msgstr(?:\[\d\])? \"(.*)\"")
# A comment or string of JavaScript or CSS.
QUOTED = re.compile(
    r"/\*.*?\*/|(?<!:)//[^\n]*|\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*'|`(?:[^`\\]|\\.)*`", re.DOTALL
)
LEFT_OUT = ("scripts/words.py", "docs/reference/study-definition.md")


class Finding(NamedTuple):
    """A place that breaks a rule."""

    path: str
    line: int
    message: str


def main(arguments: list[str]) -> int:
    """Print every place that breaks a rule. Return 1 if there is any."""
    findings = [finding for path in list_tracked_files(arguments) for finding in list_findings(path)]
    for finding in findings:
        print(f"{finding.path}:{finding.line}: {finding.message}")
    print(f"{len(findings)} findings" if findings else "All words are as they should be.")
    return 1 if findings else 0


def list_tracked_files(arguments: list[str]) -> list[str]:
    """Return the files to read: those git knows below the given folders, or all."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "--", *arguments],
        cwd=ROOT, capture_output=True, text=True, check=True,
    ).stdout.splitlines()  # fmt: skip
    return [
        path
        for path in listed
        if path.endswith(tuple(CHECKS)) and "/migrations/" not in path and path not in LEFT_OUT
        if (ROOT / path).exists()
    ]


def list_findings(path: str) -> Iterator[Finding]:
    """Yield what breaks a rule in a file, in no order."""
    text = (ROOT / path).read_text("utf-8")
    lines = text.splitlines()
    check = next(check for ending, check in CHECKS.items() if path.endswith(ending))
    yield from (row for row in check(path, text) if ALLOWED not in lines[min(row.line, len(lines)) - 1])


def _check_python(path: str, text: str) -> Iterator[Finding]:
    tree = ast.parse(text)
    parts = {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values}
    docstrings = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        yield from _check_names(path, node)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield from _check_docstring(path, node)
        elif isinstance(node, ast.Constant | ast.JoinedStr) and id(node) not in parts:
            check = _check_sentences if id(node) in docstrings else _check_message
            yield from check(path, node.lineno, _read_literal(node))
    with (ROOT / path).open("rb") as file:
        for token in tokenize.tokenize(file.readline):
            if token.type == tokenize.COMMENT:
                yield from _check_sentences(path, token.start[0], token.string.lstrip("#: "))


def _read_literal(node: ast.Constant | ast.JoinedStr) -> str:
    if isinstance(node, ast.JoinedStr):
        return "".join(str(part.value) if isinstance(part, ast.Constant) else "…" for part in node.values)
    return node.value if isinstance(node.value, str) else ""


def _check_script(path: str, text: str) -> Iterator[Finding]:
    for match in QUOTED.finditer(text):
        words = re.sub(r"\n\s*\*", "\n", match.group(0)).strip("/*\"'` \n")
        check = _check_sentences if match.group(0).startswith("/") else _check_message
        yield from check(path, text.count("\n", 0, match.start()) + 1, words)
    if path.endswith(".js"):
        code = QUOTED.sub(lambda match: "\n" * match.group(0).count("\n"), text)
        for match in VARIABLE.finditer(code):
            yield _describe_name(path, code.count("\n", 0, match.start()) + 1, match.group(0))


def _check_names(path: str, node: ast.AST) -> Iterator[Finding]:
    stored: list[tuple[str, int]] = []
    if isinstance(node, ast.Assign | ast.AnnAssign | ast.For | ast.With | ast.NamedExpr):
        stored = [
            (name.id, name.lineno)
            for target in _list_targets(node)
            for name in ast.walk(target)
            if isinstance(name, ast.Name) and isinstance(name.ctx, ast.Store)
        ]
    elif isinstance(node, ast.arg):
        stored = [(node.arg, node.lineno)]
    elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        stored = [(node.name.strip("_"), node.lineno)]
    for name, line in stored:
        if name in NAMES:
            yield _describe_name(path, line, name)


def _describe_name(path: str, line: int, name: str) -> Finding:
    return Finding(path, line, f"the name {name!r} does not say what it holds")


def _list_targets(node: ast.AST) -> list[ast.AST]:
    if isinstance(node, ast.Assign):
        return list(node.targets)
    if isinstance(node, ast.With):
        return [item.optional_vars for item in node.items if item.optional_vars]
    return [node.target]  # type: ignore[attr-defined]


def _check_docstring(
    path: str, node: ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
) -> Iterator[Finding]:
    summary = (ast.get_docstring(node) or "").split("\n", 1)[0]
    if len(summary) > LONGEST_SUMMARY:
        message = f"the first line has {len(summary)} characters, over {LONGEST_SUMMARY}"
        yield Finding(path, node.body[0].lineno, message)


def _check_prose(path: str, text: str) -> Iterator[Finding]:
    in_code = False
    for number, line in enumerate(text.splitlines(), 1):
        if line.lstrip().startswith("```"):
            in_code = not in_code
        yield from _find_bare_commands(path, number, line)
        if in_code:
            continue
        yield from _find_wrong_words(path, number, line)
        if path.endswith(".md"):
            yield from _find_riddles(path, number, line.lstrip("#>-*| 0123456789."))
        else:
            for groups in PAGE_TEXT.findall(line):
                yield from _find_riddles(path, number, "".join(groups).strip())
                yield from _find_no_nouns(path, number, "".join(groups))


def _check_catalogue(path: str, text: str) -> Iterator[Finding]:
    for number, line in enumerate(text.splitlines(), 1):
        match = CATALOGUE_TEXT.fullmatch(line)
        riddle = match and GERMAN_RIDDLE.search(match[1])
        if riddle:
            yield _describe_riddle(path, number, riddle)


def _check_message(path: str, line: int, text: str) -> Iterator[Finding]:
    yield from _check_sentences(path, line, text)
    yield from _find_no_nouns(path, line, text)
    yield from _find_bare_commands(path, line, text[1:])


def _find_no_nouns(path: str, line: int, text: str) -> Iterator[Finding]:
    match = NO_NOUN.search(text)
    if match:
        yield Finding(path, line, f"{match.group(0)!r}: is not a ..., or say what is expected")


def _find_bare_commands(path: str, line: int, text: str) -> Iterator[Finding]:
    match = BARE_COMMAND.search(text)
    if match:
        yield Finding(path, line, f"{match.group(0)!r}: does not run as typed; begin with .venv/bin/python")


def _check_sentences(path: str, line: int, text: str) -> Iterator[Finding]:
    for paragraph in re.split(r"\n\s*\n", text):
        sentences = " ".join(paragraph.split())
        yield from _find_wrong_words(path, line, sentences)
        yield from _find_riddles(path, line, sentences)


def _find_wrong_words(path: str, line: int, text: str) -> Iterator[Finding]:
    for pattern, better in PATTERNS:
        match = pattern.search(text)
        if match:
            yield Finding(path, line, f"{match.group(0)!r}: {better}")


def _find_riddles(path: str, line: int, text: str) -> Iterator[Finding]:
    for match in RIDDLE.finditer(text):
        if match["end"].strip() != "?" and len(match["rest"].split()) > 1:
            yield _describe_riddle(path, line, match)


def _describe_riddle(path: str, line: int, match: re.Match[str]) -> Finding:
    start = match.group(0)[:40]
    return Finding(path, line, f"a sentence opens with a riddle, put its subject first: {start!r}")


CHECKS = {
    ".py": _check_python,
    ".js": _check_script,
    ".css": _check_script,
    ".md": _check_prose,
    ".html": _check_prose,
    ".po": _check_catalogue,
}

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
