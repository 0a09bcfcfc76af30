"""Partitions by rule, insertions from templates, and planted readers.

The readers follow the rule or a shortcut.
"""

import json
import re

import numpy as np
import pytest

from analysis.counterfactuals.alignment import alignment_score
from analysis.counterfactuals.comparison import swaps
from analysis.counterfactuals.coreference import insertions
from analysis.counterfactuals.partitions import (
    Partition,
    cluster_of,
    comparison_partition,
    coreference_partition,
    find_words,
    random_partition,
)
from analysis.scores.hotpotqa import exact_match
from tests.analysis.data import real_data


def texts(text, spans):
    return [text[start:end] for start, end in spans]


def test_comparison():
    question = "Which film came out more recently, Blind Shaft or The Mask Of Fu Manchu (1932)?"
    partition = comparison_partition(question, ["Blind Shaft", "The Mask of Fu Manchu"])
    assert texts(question, partition.positive) == ["more", "recently"]
    assert texts(question, partition.negative) == ["Which", "film", "out", "or"]


def test_coreference():
    context = (
        "Ann Lee was a judge. She was born in Oslo. Bob was born in Rome, and he sang. Lee wrote. Her book."
    )
    cluster = cluster_of(context, "Ann Lee")
    assert texts(context, cluster) == ["Ann", "Lee", "She", "Lee", "Her"]
    partition = coreference_partition(context, "Who was born in Oslo?", cluster)
    assert texts(context, partition.positive) == ["Ann", "Lee", "She", "Lee", "Her"]
    assert not {"was", "born", "in", "Oslo"} & set(texts(context, partition.negative))
    assert {"judge", "Bob", "he"} <= set(texts(context, partition.negative))
    assert cluster_of(context, "a judge") == []


def test_random_partitions_keep_sizes_and_words():
    question = "Which film was released first, Avalon or Brass?"
    partition = comparison_partition(question)
    dealt = random_partition(partition, np.random.default_rng(1))
    assert len(dealt.positive) == len(partition.positive)
    assert sorted((*dealt.positive, *dealt.negative)) == sorted((*partition.positive, *partition.negative))


def test_parts_may_not_overlap():
    with pytest.raises(ValueError, match="negative"):
        Partition(((0, 4),), ((3, 6),))


def test_pieces_of_words_belong_to_their_word():
    parts = Partition(((0, 7),), ((8, 12),))
    assert parts.scores([(0, 3, 0.5), (3, 7, 0.25), (8, 12, 0.1), (13, 14, 9.0)]) == ([0.5, 0.25], [0.1])


def test_insertions():
    context = "Górecki said: I had an aunt in Auschwitz.\n"
    question = "What is the last name of the man who had an aunt in Auschwitz?"
    drafts = insertions(context, question, "Górecki")
    assert len(drafts) == 2
    for draft in drafts:
        assert draft.answer == "Veldrop"
        assert draft.context[draft.answer_start :].startswith("Veldrop")
        assert draft.edit.undo(draft.context) == context
        assert "he alone" in draft.context or "only he" in draft.context
    assert insertions(context, "Where was he?", "Górecki") == []
    assert insertions(context, "Who met Górecki there?", "Górecki") == []
    assert insertions(context, question, "Górecki", names=[("Auschwitz", "X")]) == []


def test_insertions_and_clusters_in_real_paragraphs():
    articles = json.loads(real_data("quoref/quoref_original_subset_20191206_merged.json").read_text("utf-8"))[
        "data"
    ]
    questions = drafted = clustered = 0
    for paragraph in (paragraph for article in articles for paragraph in article["paragraphs"]):
        for question in paragraph["qas"]:
            if len(question["answers"]) != 1:
                continue
            questions += 1
            answer, context = question["answers"][0]["text"], paragraph["context"]
            for draft in insertions(context, question["question"], answer):
                drafted += 1
                assert draft.edit.undo(draft.context) == context
                assert answer not in draft.edit.new
                assert draft.context[draft.answer_start :].startswith(draft.answer)
            cluster = cluster_of(context, answer)
            clustered += bool(cluster)
            partition = coreference_partition(context, question["question"], cluster)
            assert not set(partition.positive) & set(partition.negative)
    assert (questions, drafted, clustered) == (386, 400, 360)


YEARS = re.compile(r"(\w+) opened in (\d+)\.")
FIRST = {"earlier", "first", "older", "subsequently"}


def obeys(question, context):
    """Compare the years as the question says, and look at that word most."""
    years = {name: int(year) for name, year in YEARS.findall(context)}
    word = next(word for word in question.replace(",", "").split() if word in ("earlier", "later", "first"))
    answer = (min if word in FIRST else max)(years, key=years.get)
    return answer, [(*span, 1.0 if question[slice(*span)] == word else 0.1) for span in find_words(question)]


def takes_the_first(question, context):
    """Answer with the first name of the context; look at the question's start."""
    return YEARS.findall(context)[0][0], [(*span, 1 / (1 + span[0])) for span in find_words(question)]


@pytest.mark.parametrize("reader, low, high", [(obeys, 0.95, 1.0), (takes_the_first, 0.0, 0.05)])
def test_planted_readers(reader, low, high):
    rng, records = np.random.default_rng(3), []
    for number in range(60):
        years = rng.choice(np.arange(1800, 2000), 2, replace=False)
        context = f"Alba opened in {years[0]}. Bero opened in {years[1]}."
        word = ("earlier", "later", "first")[number % 3]
        question = f"Which of the halls opened {word}, Alba or Bero?"
        gold = ("Alba", "Bero")[int((years[0] < years[1]) == (word == "later"))]
        swap = swaps(question, gold, ["Alba", "Bero"])[0]
        answer, weights = reader(question, context)
        parts = comparison_partition(question, ["Alba", "Bero"]).scores(weights)
        records.append(
            {
                "id": str(number),
                "original_correct": exact_match(gold, answer),
                "counterfactual_correct": exact_match(swap.answer, reader(swap.question, context)[0]),
                "positive": parts[0],
                "negative": parts[1],
            }
        )
    alignment = alignment_score(records, rng=rng)
    assert low <= alignment.score <= high
