"""The recurrent readers.

The tests check shapes, independence of padding and batch mates, and what Select & Forget can see.
"""

import json

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from modelserver.inputs.decoding import LONGEST, build_prediction, find_best_span
from modelserver.inputs.features import Vocabulary, featurise
from modelserver.inputs.hotpot import parse_gold
from modelserver.registry import SYSTEMS, load_system
from modelserver.systems import batches
from modelserver.systems.batches import Groups, collate
from modelserver.systems.predict_each import predict_each
from modelserver.systems.reader import RecurrentSystem, load, save
from modelserver.systems.recurrent import THRESHOLD, BiSRU, Config, Recurrence, Similarity, build, scan
from modelserver.wire.errors import InvalidRequest, UnknownSystem, UnreadableWeights
from modelserver.wire.schema import LEAST_LOGPROB, QAItem
from modelserver.world import generate

CPU = torch.device("cpu")
NAMES = ["qi2019", "select-and-forget"]


@pytest.fixture(scope="module")
def items():
    return [gold.item for gold in parse_gold(generate("dev", 6, 11), "world")]


def _vocabulary(items):
    texts = [
        s for item in items for title, sentences in item.context for s in (item.question, title, *sentences)
    ]
    return Vocabulary.build(texts, at_least=3)


def _system(name, items, seed=5):
    torch.manual_seed(seed)
    config = Config(name, word_size=10, character_size=4, character_filters=6, hidden=8)
    vocabulary = _vocabulary(items)
    model = build(config, len(vocabulary))
    if name == "select-and-forget":  # untrained, it would select nothing or everything
        with torch.no_grad():
            model.judge.out.weight.mul_(6)
    return RecurrentSystem(
        model, config, vocabulary, name=name, description="small", revision="0" * 12, device=CPU
    )


@pytest.fixture(params=NAMES)
def system(request, items):
    return _system(request.param, items)


def _same(actual, expected):
    assert (actual.answer, actual.type, actual.location, actual.facts) == (
        expected.answer,
        expected.type,
        expected.location,
        expected.facts,
    )
    for a, b in zip(actual.fact_probabilities, expected.fact_probabilities, strict=True):
        assert a.fact == b.fact
        assert a.probability == pytest.approx(b.probability, abs=1e-5)


def test_it_works(system, items):
    predictions = system.predict(items)
    assert [p.id for p in predictions] == [item.id for item in items]
    for item, p in zip(items, predictions, strict=True):
        listed = [(title, i) for title, sentences in item.context for i in range(len(sentences))]
        assert [fact.fact for fact in p.fact_probabilities] == listed
        assert p.threshold == THRESHOLD == 0.33
        chosen = {
            fact.fact: fact.probability for fact in p.fact_probabilities if fact.probability > THRESHOLD
        }
        assert set(p.facts) == set(chosen)
        assert [chosen[f] for f in p.facts] == sorted(chosen.values(), reverse=True)


def test_a_span_answer_is_the_text_at_its_location(system, items):
    system.model.answer.type_out.bias.data = torch.tensor([50.0, 0.0, 0.0])
    for item, p in zip(items, system.predict(items), strict=True):
        assert p.type == "span"
        if p.location is not None and p.location.start is not None:
            title, index = p.location.first
            sentence = dict(item.context)[title][index]
            assert sentence[p.location.start : p.location.end] == p.answer


def test_the_own_answer_as_target_has_the_probability_of_the_answer(system, items):
    for item, prediction in zip(items, system.predict(items), strict=True):
        (same,) = system.predict([item.model_copy(update={"target": prediction.answer})])
        assert prediction.target_logprob is None
        assert (
            same.target_logprob == same.answer_logprob == pytest.approx(prediction.answer_logprob, abs=1e-4)
        )
        assert prediction.answer_logprob < 0
    (absent,) = system.predict([items[0].model_copy(update={"target": "not in the text"})])
    assert absent.target_logprob == LEAST_LOGPROB


def test_an_answer_does_not_depend_on_its_batch_mates(system, items):
    together = system.predict(items)
    for item, expected in zip(items, together, strict=True):
        _same(system.predict([item])[0], expected)
    for p, expected in zip(system.predict(items[::-1]), together[::-1], strict=True):
        _same(p, expected)


def test_the_same_input_gives_the_same_output(system, items):
    assert system.predict(items) == system.predict(items)


@pytest.mark.parametrize("part", ["judge.out.bias", "answer.type_out.bias", "answer.end_out.bias"])
def test_logits_that_are_not_finite_are_an_error_of_the_item(items, part):
    """Without it, the reader would answer with a word of a table of NaN."""
    system = _system("qi2019", items)
    with torch.no_grad():
        system.model.get_parameter(part)[0] = torch.nan
    outcomes = predict_each(system, items[:3])
    assert [(outcome.id, outcome.error) for outcome in outcomes] == [
        (x.id, "prediction_failed") for x in items[:3]
    ]
    assert "logits are not finite" in outcomes[0].message


def test_padding_does_not_reach_the_logits(system, items):
    features = [featurise(item, system.vocabulary) for item in items]
    long = featurise(
        QAItem(id="long", question="Why " * 40, context=[("T", ["word " * 200])]), system.vocabulary
    )
    with torch.inference_mode():
        alone = system.model(collate(features[:1], CPU))
        padded = system.model(collate([features[0], long], CPU))
    tokens, facts = len(features[0].word), len(features[0].facts)
    torch.testing.assert_close(padded.facts[:facts], alone.facts)
    torch.testing.assert_close(padded.type[:1], alone.type)
    for name in ("start", "end"):
        visible = alone.seen
        torch.testing.assert_close(getattr(padded, name)[:tokens][visible], getattr(alone, name)[visible])


def _unselected(prediction, item):
    return [
        (title, i)
        for title, sentences in item.context
        for i in range(len(sentences))
        if (title, i) not in prediction.facts
    ]


def _forced_answer(system, features, selected):
    """Return the answer logits when exactly the given facts are selected.

    The fact head has no say.
    """
    gold = torch.tensor([fact in selected for fact in features.facts])
    system.model.threshold = 1.0  # no fact is selected by probability
    with torch.inference_mode():
        return system.model(collate([features], CPU), gold)


@pytest.mark.parametrize("change", ["other words", "fewer words", "no word"])
def test_select_and_forget_answers_from_the_selected_facts_alone(items, change):
    system = _system("select-and-forget", items)
    item = items[0]
    selected = {(item.context[1][0], 0), (item.context[4][0], 1)}

    def changed(text):
        words = text.split()
        return {"other words": " ".join("Zorb" for _ in words), "fewer words": words[0], "no word": ""}[
            change
        ]

    context = [
        (title, [s if (title, i) in selected else changed(s) for i, s in enumerate(sentences)])
        for title, sentences in item.context
    ]
    full = featurise(item, system.vocabulary)
    other = featurise(QAItem(id="x", question=item.question, context=context), system.vocabulary)
    original, altered = _forced_answer(system, full, selected), _forced_answer(system, other, selected)
    assert original.seen.sum() == altered.seen.sum() > 0
    torch.testing.assert_close(original.type, altered.type, rtol=0, atol=1e-6)
    for name in ("start", "end"):
        a, b = getattr(original, name)[original.seen], getattr(altered, name)[altered.seen]
        torch.testing.assert_close(a, b, rtol=0, atol=1e-6)
        assert (getattr(original, name)[~original.seen] < -1e29).all()


def test_select_and_forget_passes_no_gradient_from_the_answer_to_the_rest(items):
    system = _system("select-and-forget", items)
    features = featurise(items[0], system.vocabulary)
    selected = {(items[0].context[2][0], 0)}
    gold = torch.tensor([fact in selected for fact in features.facts])
    system.model.threshold = 1.0
    seen_rows = []
    system.model.read_for_answer.register_forward_hook(lambda module, args, out: seen_rows.append(args[1]))
    outputs = system.model(collate([features], CPU), gold)
    (outputs.start[outputs.seen].sum() + outputs.type.sum()).backward()
    assert len(seen_rows[0]) == int(outputs.seen.sum())
    assert all(p.grad is None for p in system.model.read_for_facts.parameters())
    assert all(p.grad is None for p in system.model.judge.parameters())


def test_qi2019_sees_the_whole_context(items):
    system = _system("qi2019", items)
    item = items[0]
    full = featurise(item, system.vocabulary)
    context = [*item.context[:-1], (item.context[-1][0], ["Zorb is here."] * len(item.context[-1][1]))]
    other = featurise(QAItem(id="x", question=item.question, context=context), system.vocabulary)
    with torch.inference_mode():
        original, altered = (system.model(collate([f], CPU)) for f in (full, other))
    assert not torch.allclose(original.start[:20], altered.start[:20], atol=1e-7)


def test_titles_are_hidden_from_the_answer_of_select_and_forget(items):
    system = _system("select-and-forget", items)
    predictions = system.predict(items)
    assert all(p.location is None or p.location.first is not None for p in predictions)
    assert all(
        p.location is None or p.location.first in p.facts for p in predictions
    )  # and it lies in a selected fact


@pytest.mark.parametrize(
    "context",
    [
        [("Ada Vorn", []), ("Elsk", [])],
        [("Ada Vorn", [""]), ("Elsk", ["", ""])],
        [("", [])],
        [("Ada Vorn", ["Ada."]), ("Empty", []), ("Elsk", ["", " It is old."])],
    ],
)
def test_reduced_contexts_are_answered(system, context):
    item = QAItem(id="q", question="Where was Ada Vorn born?", context=context)
    prediction = system.predict([item])[0]
    listed = [(title, i) for title, sentences in context for i in range(len(sentences))]
    assert [fact.fact for fact in prediction.fact_probabilities] == listed
    empty = {(t, i) for t, sentences in context for i, s in enumerate(sentences) if not s}
    assert not empty & set(prediction.facts)


def test_without_a_selected_fact_there_is_no_span(items):
    system = _system("select-and-forget", items)
    system.model.judge.out.bias.data = torch.tensor([100.0, -100.0])
    system.model.answer.type_out.bias.data = torch.tensor([50.0, 0.0, 0.0])
    p = system.predict(items[:1])[0]
    assert (p.answer, p.type, p.location, p.facts) == ("", "span", None, [])


def test_two_articles_with_one_title_share_their_facts(system):
    context = [("A", ["One is here.", " Two."]), ("A", ["Three is there."])]
    p = system.predict([QAItem(id="q", question="Which?", context=context)])[0]
    assert [fact.fact for fact in p.fact_probabilities] == [("A", 0), ("A", 1)]


@pytest.mark.parametrize(
    "question, context, field",
    [
        ("Who?", [], "context"),
        ("  ", [("A", ["b"])], "question"),
        ("Who?", [("A", ["word " * 7000])], "context"),
    ],
)
def test_what_cannot_be_read_names_the_field(system, question, context, field):
    item = QAItem(id="q", question=question, context=context)
    with pytest.raises(InvalidRequest) as caught:
        system.check(item)
    assert caught.value.field == field
    with pytest.raises(InvalidRequest):
        system.predict([item])


def test_cost_grows_with_the_text(system, items):
    longer = QAItem(id="l", question=items[0].question, context=[*items[0].context, *items[1].context])
    assert system.cost(longer) > system.cost(items[0]) > 0
    assert isinstance(system.cost(items[0]), int)


# --- decoding


def _features(context):
    return featurise(QAItem(id="q", question="Q?", context=context), Vocabulary(()))


def _best_by_hand(start, end, allowed):
    pairs = [
        (s, e) for s in range(len(start)) for e in range(s, min(len(start), s + LONGEST + 1)) if allowed(s, e)
    ]
    return max(pairs, key=lambda pair: start[pair[0]] + end[pair[1]])


def test_the_best_span_is_the_best_of_all_allowed_pairs():
    features = _features(
        [("A b", ["c d e f g h i j k l m n o p q r s t u v w x.", " y z."]), ("B", ["c d."])]
    )
    rng = np.random.default_rng(1)
    for _ in range(50):
        start, end = rng.normal(size=(2, len(features.word)))
        visible = rng.random(len(start)) < 0.9

        def allowed(s, e, visible=visible):
            title = features.fact == -1
            same = (
                len({(a, t) for a, t in zip(features.article[s : e + 1], title[s : e + 1], strict=True)}) == 1
            )
            return same and visible[s : e + 1].all()

        assert find_best_span(start, end, visible, features) == _best_by_hand(start, end, allowed)


def test_nothing_seen_gives_no_span():
    features = _features([("A", ["b c."])])
    logits = np.zeros(len(features.word))
    assert find_best_span(logits, logits, np.zeros(len(logits), dtype=bool), features) is None


def test_equal_probabilities_put_the_later_listed_fact_first():
    item = QAItem(id="q", question="Q?", context=[("A", ["b.", " c."]), ("B", ["d."])])
    p = build_prediction(
        item, featurise(item, Vocabulary(())), span=None, kind="no", relevance=[0.5, 0.9, 0.5], threshold=0.33
    )
    assert p.facts == [("A", 1), ("B", 0), ("A", 0)]
    assert (p.answer, p.location) == ("no", None)


def test_an_answer_in_a_title_or_across_sentences_has_no_offsets():
    item = QAItem(id="q", question="Q?", context=[("Ada Vorn", ["One is.", " Two is."])])
    features = featurise(item, Vocabulary(()))

    def answer(span):
        p = build_prediction(item, features, span=span, kind="span", relevance=[0.1, 0.2], threshold=0.33)
        return p.answer, p.location.first, p.location.last, p.location.start

    assert answer((0, 1)) == ("Ada Vorn", None, None, None)
    assert answer((3, 5)) == ("is. Two", ("Ada Vorn", 0), ("Ada Vorn", 1), None)
    assert answer((5, 5)) == ("Two", ("Ada Vorn", 1), ("Ada Vorn", 1), 1)


# --- the recurrent layer


def test_the_recurrence_and_its_gradient_are_right():
    torch.manual_seed(1)
    sizes = (3, 3, 2, 1)
    forget = torch.rand(9, 4, dtype=torch.double, requires_grad=True)
    update = torch.randn(9, 4, dtype=torch.double, requires_grad=True)
    states = Recurrence.apply(forget, update, sizes).split(sizes)
    state = torch.zeros(3, 4, dtype=torch.double)
    for t, (keep, new) in enumerate(zip(forget.split(sizes), update.split(sizes), strict=True)):
        state = keep * state[: sizes[t]] + new
        torch.testing.assert_close(states[t], state)
    assert torch.autograd.gradcheck(lambda f, u: Recurrence.apply(f, u, sizes), (forget, update))


def test_packed_rows_are_steps_of_chunks_of_the_longest_groups_first():
    groups = Groups.of(torch.tensor([0, 1, 1, 1, 3, 3, 3]), 4)  # group 2 is empty
    rows = torch.arange(1, 8).repeat(2, 1).T
    packed = groups.pack(rows)
    assert (groups.steps, groups.sizes, groups.before.tolist()) == (2, (3, 2), [0, 1])
    assert packed[:7, 0].tolist() == [2, 5, 1, 4, 7, 3, 6]  # onwards; the short chunks' ends are not read
    assert packed[:7, 1].tolist() == [4, 7, 1, 2, 5, 3, 6]  # backwards
    assert torch.equal(groups.unpack(packed), rows)


@pytest.mark.parametrize("lengths", [[1], [0, 3], [17, 0, 4, 9, 1, 16, 25, 10], [130, 7, 64]])
def test_a_scan_in_chunks_is_that_of_one_row_after_the_other(lengths):
    torch.manual_seed(1)
    ids = torch.arange(len(lengths)).repeat_interleave(torch.tensor(lengths))
    groups = Groups.of(ids, len(lengths))
    forget, update = torch.rand(2, len(ids), 4, dtype=torch.double).requires_grad_()
    scanned = groups.unpack(scan(groups.pack(forget), groups.pack(update), groups))
    expected = []
    for keep, new in zip(forget.split(lengths), update.split(lengths), strict=True):
        onwards, backwards = [torch.zeros(2)], [torch.zeros(2)]
        for t in range(len(keep)):
            onwards.append(keep[t, :2] * onwards[-1] + new[t, :2])
            backwards.append(keep[-1 - t, 2:] * backwards[-1] + new[-1 - t, 2:])
        states = zip(onwards[1:], backwards[:0:-1], strict=True)
        expected += [torch.cat(both) for both in states]
    torch.testing.assert_close(scanned, torch.stack(expected))
    gradients = torch.autograd.grad(torch.stack(expected).pow(2).sum(), (forget, update))
    torch.testing.assert_close(torch.autograd.grad(scanned.pow(2).sum(), (forget, update)), gradients)


@pytest.mark.parametrize("needs_gradient", [False, True])
def test_self_attention_is_the_softmax_of_the_whole_similarity(needs_gradient):
    """The term that is left out, the same along a row, changes nothing.

    A row alone sees nothing.
    """
    torch.manual_seed(1)
    similarity, rows = Similarity(6), torch.randn(3, 5, 6, requires_grad=needs_gradient)
    words = torch.tensor([[3.0, 1, 3, 3, 1], [2, 2, 0, -1, -1], [4, -1, -1, -1, -1]])
    same, mask = words[:, :, None] == words[:, None, :], words >= 0
    others = mask[:, None, :] & ~torch.eye(5, dtype=torch.bool)
    scores = similarity(rows, rows, same.float()).masked_fill(~others, -1e30)
    expected = (torch.softmax(scores, -1) * others) @ rows
    attended = similarity.attend(rows, words)
    torch.testing.assert_close(attended[mask], expected[mask])
    assert attended[2, 0].abs().max() == 0
    if needs_gradient:
        gradients = [
            torch.autograd.grad(x[mask].pow(2).sum(), rows, retain_graph=True) for x in (attended, expected)
        ]
        torch.testing.assert_close(*gradients)


def test_examples_are_compared_by_themselves_or_with_short_neighbours(items, monkeypatch):
    context = collate([featurise(item, _vocabulary(items)) for item in items[:5]], CPU).context
    rows = torch.randn(len(context.word), 3)
    for pairs, parts in ((1, 5), (2 * max(context.lengths) ** 2, 3), (10**9, 1)):
        monkeypatch.setattr(batches, "PAIRS", pairs)
        padded_parts = list(context.parts(rows))
        assert len(padded_parts) == parts
        assert torch.equal(torch.cat([padded[words >= 0] for padded, words in padded_parts]), rows)
        assert torch.equal(torch.cat([words[words >= 0] for _, words in padded_parts]), context.word)


def test_shared_words_are_those_of_another_article_of_the_example(items):
    features = [featurise(item, _vocabulary(items)) for item in items[:3]]
    context = collate(features, CPU).context
    rows = list(zip(context.example.tolist(), context.article.tolist(), context.key.tolist(), strict=True))
    expected = [any(o[0] == r[0] and o[1] != r[1] and o[2] == r[2] for o in rows) for r in rows]
    assert context.shared.tolist() == expected
    assert 0 < sum(expected) < len(rows)


def test_each_group_is_read_by_itself_in_both_directions():
    torch.manual_seed(1)
    layer = BiSRU(4, 3, 0.0).eval()
    rows = torch.randn(7, 4)
    ids = torch.tensor([0, 0, 0, 1, 1, 1, 1])
    both = layer(rows, Groups.of(ids, 2))
    torch.testing.assert_close(both[:3], layer(rows[:3], Groups.of(ids[:3], 1)))
    torch.testing.assert_close(both[3:], layer(rows[3:], Groups.of(ids[3:] - 1, 1)))
    changed = rows.clone()
    changed[2] += 1
    moved = (layer(changed, Groups.of(ids, 2)) - both).abs()
    assert (moved[0, 3:] > 0).any()  # backwards, the first row knows of the third
    assert moved[0, :3].max() == 0  # onwards it does not
    assert moved[3:].max() == 0


# --- weights folders


@pytest.fixture
def folder(tmp_path, items):
    system = _system("qi2019", items)
    save(tmp_path / "w", system.model, system.config, system.vocabulary)
    return tmp_path / "w"


def test_saved_weights_answer_as_before(folder, items):
    loaded = load(folder, CPU, name="qi2019", description="d")
    expected = _system("qi2019", items).predict(items)
    for p, q in zip(loaded.predict(items), expected, strict=True):
        assert [a.fact for a in p.fact_probabilities] == [a.fact for a in q.fact_probabilities]
        for a, b in zip(p.fact_probabilities, q.fact_probabilities, strict=True):
            assert a.probability == pytest.approx(b.probability, abs=5e-3)  # stored in 16 bits


def test_the_revision_follows_weights_and_configuration(folder):
    before = load(folder, CPU, name="qi2019", description="d").revision
    assert before == load(folder, CPU, name="qi2019", description="other").revision
    assert len(before) == 12
    assert int(before, 16) >= 0
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, "threshold": 0.5}))
    middle = load(folder, CPU, name="qi2019", description="d").revision
    weights = load_file(folder / "model.safetensors")
    weights["tell.bias"] += 1
    save_file(weights, folder / "model.safetensors")
    assert len({before, middle, load(folder, CPU, name="qi2019", description="d").revision}) == 3


def _drop_tensor(folder):
    weights = load_file(folder / "model.safetensors")
    weights.pop("tell.bias")
    save_file(weights, folder / "model.safetensors")


def _infinite(folder):
    weights = load_file(folder / "model.safetensors")
    weights["tell.bias"][:2] = torch.inf
    save_file(weights, folder / "model.safetensors")


@pytest.mark.parametrize(
    "damage, message",
    [
        (_infinite, "model.safetensors: tell.bias: 2 of its numbers are not finite"),
        (lambda f: (f / "vocab.json").unlink(), "vocab.json"),
        (lambda f: (f / "model.safetensors").write_bytes(b"nothing"), "model.safetensors"),
        (lambda f: (f / "config.json").write_text("{"), "config.json"),
        (lambda f: (f / "config.json").write_text('{"system": "qi2019", "width": 3}'), "width"),
        (lambda f: (f / "config.json").write_text('{"system": "select-and-forget"}'), "select-and-forget"),
        (_drop_tensor, "tell.bias"),
    ],
)
def test_damaged_weights_are_named(folder, damage, message):
    damage(folder)
    with pytest.raises(UnreadableWeights, match=message):
        load(folder, CPU, name="qi2019", description="d")


def test_an_unknown_system_names_the_known_ones():
    with pytest.raises(UnknownSystem, match="qi2019, select-and-forget"):
        load_system("bert")


def test_the_table_of_systems_is_complete():
    assert all(name == spec.name and spec.description for name, spec in SYSTEMS.items())
    assert set(NAMES) <= set(SYSTEMS)
