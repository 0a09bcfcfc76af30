"""Read claims with evidence; the answer is a label.

HoVer, FEVER and SciFact.

Sources: Jiang et al. 2020 (HoVer), Thorne et al. 2018 (FEVER), Wadden et al. 2020 (SciFact). FEVER and
SciFact name sentences of articles that lie in files of their own: both are read from a folder.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, TypeVar

from pydantic import AliasChoices, BaseModel, BeforeValidator, Field

from foundation.errors import BadFile
from foundation.imports.findings import Findings
from foundation.imports.import_fields import Id, Index, LongText, Text
from foundation.imports.json_stream import OnProgress, read_values
from foundation.messages import field_error, say
from foundation.pages.whole_numbers import parse_whole_number
from modelserver.wire.schema import Fact
from predictions.formats.entries import read_entries
from predictions.formats.labels import read_labels
from predictions.formats.records import QuestionRecord

WIKI_PAGES, CORPUS = "wiki-pages", "corpus.jsonl"
NO_EVIDENCE = "NOT_ENOUGH_INFO"  # SciFact gives such claims no label


def _convert_number(value: Any) -> Any:
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


ClaimId = Annotated[Id, BeforeValidator(_convert_number)]
LabelText = Annotated[Text, Field(min_length=1, max_length=200)]
Sentences = list[Text]
Article = TypeVar("Article")


class _Claim(BaseModel):
    external_id: Annotated[ClaimId, Field(validation_alias=AliasChoices("uid", "id", "_id"))]
    text: Annotated[LongText, Field(validation_alias="claim")]


class _Joined(_Claim):
    """A claim with its articles, as HoVer joined with them."""

    answer: Annotated[LabelText, Field(validation_alias="label")]
    context: Annotated[list[tuple[Text, Sentences]], Field(min_length=1)]
    supporting_facts: list[tuple[Text, Index]] | None = None
    hops: Annotated[int | None, Field(validation_alias="num_hops")] = None


def read_claims(
    path: Path, *, on_progress: OnProgress | None = None, findings: Findings | None = None
) -> Iterator[QuestionRecord]:
    """Yield the claims of a file that holds their articles.

    A claim has ``uid`` or ``id``, ``claim``, ``label``, ``context`` as in HotpotQA and, if the evidence is
    known, ``supporting_facts``.

    Args:
        path: A JSON list or JSON Lines.
        on_progress: Called with the number of bytes read so far.
        findings: Takes refusals; without it the first one is raised.

    Raises:
        BadFile: An entry is wrong or repeats an ID; names file, line, entry and field.
    """
    labels = read_labels(path, ["label"])

    def make_record(entry: dict[str, Any]) -> QuestionRecord:
        if "context" not in entry:
            raise field_error("context", "is missing; join the claims with their articles")
        claim = _Joined.model_validate(entry)
        kind = "" if claim.hops is None else f"{claim.hops}-hop"
        facts = claim.supporting_facts
        return QuestionRecord(
            claim.external_id, claim.text, claim.answer, claim.context, facts, kind=kind, labels=labels
        )

    yield from read_entries(path, make_record, on_progress=on_progress, findings=findings, id_field="uid")


# --- FEVER ---

# [annotation id, evidence id, title, sentence]; the last two are null if there is no evidence.
Evidence = tuple[Any, Any, Text | None, Index | None]


class _Fever(_Claim):
    answer: Annotated[LabelText, Field(validation_alias="label")]
    evidence: list[list[Evidence]] = []


def read_fever(
    folder: Path, *, on_progress: OnProgress | None = None, findings: Findings | None = None
) -> Iterator[QuestionRecord]:
    """Yield the claims of a folder with a file of FEVER and ``wiki-pages/``.

    The context of a claim is the articles of its evidence. Of several sets of evidence, the first counts
    as gold. Claims that no article decides have no evidence, so no context, and are left out.

    Arguments and errors are those of `read_claims`.
    """
    findings = findings or Findings()
    path = find_entries_file(folder, beside=WIKI_PAGES)
    labels = read_labels(path, ["label"])
    wanted = {title for facts in _read_fever_sets(path) for title, _ in facts}
    articles = _read_wiki_articles(folder / WIKI_PAGES, wanted)

    def make_record(entry: dict[str, Any]) -> QuestionRecord | None:
        claim = _Fever.model_validate(entry)
        sets = [facts for evidence_set in claim.evidence if (facts := _list_named_facts(evidence_set))]
        if not sets:
            findings.note_repair("without_evidence", claim.external_id)
            return None
        if len(sets) > 1:
            findings.note_repair("several_evidence_sets", claim.external_id)
        titles = list(dict.fromkeys(title for facts in sets for title, _ in facts))
        context = [(title, _find_article(articles, title, WIKI_PAGES)) for title in titles]
        return QuestionRecord(claim.external_id, claim.text, claim.answer, context, sets[0], labels=labels)

    yield from read_entries(path, make_record, on_progress=on_progress, findings=findings)


def _read_fever_sets(path: Path) -> Iterator[list[Fact]]:
    for element in read_values(path, on_error=lambda error: None):
        try:
            claim = _Fever.model_validate(element.value)
        except ValueError:
            continue  # refused when it is read for its record
        yield from map(_list_named_facts, claim.evidence)


def _list_named_facts(evidence: list[Evidence]) -> list[Fact]:
    named = [(title, index) for _, _, title, index in evidence if title is not None and index is not None]
    return list(dict.fromkeys(named))


def _read_wiki_articles(folder: Path, wanted: set[str]) -> dict[str, list[str]]:
    """Return the wanted articles of ``wiki-pages``: ``{"id", "lines"}``.

    ``lines`` has a line per sentence: number, tab, sentence, and further columns with links.
    """
    articles = dict[str, list[str]]()
    for file in sorted(folder.glob("*.jsonl")):
        for element in read_values(file):
            page = element.value
            title, lines = (page.get("id"), page.get("lines")) if isinstance(page, dict) else (None, None)
            if isinstance(title, str) and title in wanted and isinstance(lines, str):
                articles[title] = _parse_wiki_sentences(lines)
    return articles


_SENTENCE_DIGITS = 6  # of a number in the file; a larger one would make a list of that length


def _parse_wiki_sentences(lines: str) -> list[str]:
    sentences = dict[int, str]()
    for line in lines.split("\n"):
        first, _, rest = line.partition("\t")
        if (number := parse_whole_number(first, _SENTENCE_DIGITS)) is not None:
            sentences[number] = rest.partition("\t")[0]
    return [sentences.get(number, "") for number in range(max(sentences, default=-1) + 1)]


# --- SciFact ---


class _Abstract(BaseModel):
    doc_id: ClaimId
    title: Text
    abstract: Annotated[Sentences, Field(min_length=1)]


class _Verdict(BaseModel):
    sentences: list[Index]
    label: LabelText


class _SciFact(_Claim):
    evidence: dict[str, list[_Verdict]] = {}
    cited_doc_ids: list[ClaimId]


def read_scifact(
    folder: Path, *, on_progress: OnProgress | None = None, findings: Findings | None = None
) -> Iterator[QuestionRecord]:
    """Yield the claims of a folder with a file of SciFact and its corpus.

    The context of a claim is the abstracts that it cites. A claim without evidence has the label
    NOT_ENOUGH_INFO and unknown gold facts; all rationales of the others together are their gold facts.

    Arguments and errors are those of `read_claims`.
    """
    path = find_entries_file(folder, beside=CORPUS)
    abstracts = _read_abstracts(folder / CORPUS)
    labels = ["SUPPORT", "CONTRADICT", NO_EVIDENCE]

    def make_record(entry: dict[str, Any]) -> QuestionRecord:
        claim = _SciFact.model_validate(entry)
        cited = list(dict.fromkeys([*claim.cited_doc_ids, *claim.evidence]))
        texts = {key: _find_article(abstracts, key, CORPUS) for key in cited}
        verdicts = {verdict.label for given in claim.evidence.values() for verdict in given}
        if len(verdicts) > 1:
            raise field_error("evidence", "its abstracts disagree; a claim has one label")
        facts = [
            (texts[key].title, index)
            for key, given in claim.evidence.items()
            for verdict in given
            for index in verdict.sentences
        ]
        context = [(text.title, text.abstract) for text in texts.values()]
        answer = verdicts.pop() if verdicts else NO_EVIDENCE
        unique = list(dict.fromkeys(facts)) or None
        return QuestionRecord(claim.external_id, claim.text, answer, context, unique, labels=labels)

    yield from read_entries(path, make_record, on_progress=on_progress, findings=findings)


def _read_abstracts(path: Path) -> dict[str, _Abstract]:
    abstracts = dict[str, _Abstract]()
    for element in read_values(path):
        try:
            abstract = _Abstract.model_validate(element.value)
        except ValueError as error:
            raise BadFile(
                path, say("an abstract lacks doc_id, title or abstract"), line=element.line
            ) from error
        abstracts[abstract.doc_id] = abstract
    return abstracts


# --- folders ---


def find_entries_file(folder: Path, *, beside: str) -> Path:
    """Return the one JSON file of a folder, beside its articles.

    Raises:
        BadFile: The folder lacks the articles, or does not hold exactly one other file.
    """
    if not folder.is_dir() or not (folder / beside).exists():
        reason = say("expected a folder, or a zip file of it, with %(name)s and the entries", name=beside)
        raise BadFile(folder, reason)
    files = [path for path in sorted(folder.iterdir()) if path.suffix in (".json", ".jsonl", ".ndjson")]
    entries = [path for path in files if path.name != beside]
    if len(entries) != 1:
        reason = say(
            "must hold exactly one JSON file beside %(name)s, and holds %(number)s",
            name=beside,
            number=len(entries),
        )
        raise BadFile(folder, reason)
    return entries[0]


def _find_article(articles: dict[str, Article], key: str, where: str) -> Article:
    if key not in articles:
        raise field_error("evidence", "%(where)s has no article %(key)r", where=where, key=key[:200])
    return articles[key]
