"""The network as a system.

The tests check batches, words and pieces, given programs, refusals, and weights on disk.
"""

import itertools

import numpy as np
import pytest
import torch

from analysis.programs import parse
from modelserver.modular.text.network import load as load_network
from modelserver.modular.text.network import save
from modelserver.modular.text.reading import find_argument_words
from modelserver.modular.text.scoring import run
from modelserver.modular.text.system import load
from modelserver.systems.predict_each import predict_each
from modelserver.wire.errors import InvalidRequest, UnreadableWeights
from modelserver.wire.system_protocol import ExecuteTask
from tests.modelserver.modular.text.networks import CPU, games, item, network, system

PASSAGE = "The Comets gained 312 yards on 3 May 1950. 🏈 The Foxes, founded in 1961, gained 280 yards."
QUESTION = "Did the Foxes or the Comets gain more yards?"
PROGRAM = "num-compare[greater](find-num(find[Foxes gain yards]), find-num(find[Comets gain yards]))"


@pytest.fixture(scope="module")
def untrained():
    return system()


def outputs(executions):
    return [
        (execution.program, execution.answer, [np.array(module.attention) for module in execution.modules])
        for execution in executions
    ]


def alike(actual, expected):
    assert [x[:2] for x in actual] == [x[:2] for x in expected]
    for output, reference in zip(actual, expected, strict=True):
        for a, b in zip(output[2], reference[2], strict=True):
            assert np.allclose(a, b, atol=1e-5)


def test_it_works(untrained):
    (execution,) = untrained.execute([item(QUESTION, PASSAGE, program=PROGRAM)])
    program = parse(PROGRAM, kind="spans")
    assert execution.program == str(program)
    assert [(module.index, module.module) for module in execution.modules] == [
        (node.index, node.module) for node in program.nodes
    ]
    tokens = item(QUESTION, PASSAGE).tokens
    for node, module in zip(program.nodes, execution.modules, strict=True):
        assert len(module.attention) == len(tokens)
        assert sum(module.attention) == pytest.approx(1, abs=1e-4)
        assert (module.value in (312, 280, 1961)) == (node.module == "find-num")
    assert execution.answer in PASSAGE


def test_without_program_it_writes_one_of_its_language(untrained):
    (execution,) = untrained.execute([item("How many?", "Nobody came.")])
    program = parse(execution.program, kind="spans")
    assert not {"find-num", "find-date"} & {node.module for node in program.nodes}
    assert untrained.execute([untrained.warm_up])


def test_padding_and_order_change_nothing(untrained):
    items = [example.item.model_copy(update={"program": str(example.program)}) for example in games(12)]
    items.append(item("How long?", "It was 3 yards.", id="short", program="find-num(find)"))
    alone = outputs([untrained.execute([question])[0] for question in items])
    alike(outputs(untrained.execute(items)), alone)
    turned = outputs(untrained.execute(items[::-1]))[::-1]
    alike(turned, alone)
    assert [execution.id for execution in untrained.execute(items)] == [question.id for question in items]
    questions = [example.item for example in games(4)]
    together = [execution.program for execution in untrained.execute(questions)]
    assert together == [untrained.execute([question])[0].program for question in questions]


def test_attention_is_over_the_words_of_the_item_however_they_are_cut(untrained):
    whole = item(QUESTION, PASSAGE, program="find[yards]")
    cut = [((a, a + 1), (a + 1, b)) if b - a > 1 else ((a, b),) for a, b in whole.tokens]
    halves = list(itertools.chain.from_iterable(cut))
    gaps = [(a, b) for a, b in whole.tokens if PASSAGE[a:b].isalnum()]
    for tokens in (halves, gaps, [(0, len(PASSAGE))]):
        (execution,) = untrained.execute([whole.model_copy(update={"tokens": tokens})])
        assert len(execution.modules[0].attention) == len(tokens)
        assert sum(execution.modules[0].attention) == pytest.approx(1, abs=1e-4)


def test_a_long_passage_is_read_in_windows(untrained):
    short = "The Comets gained 312 yards. "
    long = item("How many yards?", short * 150, program="find-num(find[yards])")
    (execution,) = untrained.execute([long])
    assert len(execution.modules[0].attention) == len(long.tokens)
    assert min(execution.modules[1].attention) > 0
    assert untrained.cost(long) > untrained.network.reader.reading.window
    assert len(untrained.network.reader.windows(untrained.network.read(long).encoded)) > 1


def test_words_of_an_argument_are_those_that_stand_closest_together():
    words = [
        "How",
        "many",
        "years",
        "after",
        "the",
        "opening",
        "of",
        "A",
        "was",
        "the",
        "founding",
        "of",
        "the",
        "B",
    ]
    assert find_argument_words("founding of the B", words) == [10, 11, 12, 13]
    assert find_argument_words("opening of A", words) == [5, 6, 7]
    assert find_argument_words("OPENING zebra", words) == [5]
    assert find_argument_words("zebra", words) == []
    assert find_argument_words("", words) == []


def test_an_argument_decides_what_is_looked_for_and_one_of_other_words_is_left_to_the_parser(untrained):
    def attention(argument):
        (execution,) = untrained.execute([item(QUESTION, PASSAGE, program=f"find{argument}")])
        return execution.modules[0].attention

    assert attention("[Foxes]") != attention("[Comets]")
    assert attention("[zebra]") == attention("")
    assert attention("[FOXES]") == attention("[Foxes]")


def test_what_stands_in_question_and_passage_is_marked(untrained):
    reading = untrained.network.read(item("Did Zyx win?", "Abc lost. zyx won."))
    assert reading.same.nonzero()[0].tolist() == [1]
    question_pieces, passage_pieces = reading.marked
    places = reading.encoded.places[passage_pieces]
    assert {(int(a) >= 10 and int(b) <= 13) for _, _, a, b in places} == {True}
    assert question_pieces.any()


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"tokens": []}, "tokens"),
        ({"tokens": [(0, 3), (2, 5)]}, "tokens.1"),
        ({"tokens": [(0, 3), (5, 5)]}, "tokens.1"),
        ({"tokens": [(0, 3), (5, 900)]}, "tokens.1"),
        ({"text": " ?".replace("?", "​")}, "text"),
        ({"text": "word " * 1_000}, "text"),
        ({"program": "count("}, "program"),
        ({"program": "equal(1, 2)"}, "program"),
        ({"passage": "Nobody came.", "tokens": [(0, 2)], "program": "find-num(find)"}, "program"),
        ({"passage": "12 came.", "tokens": [(0, 2)], "program": "find-date(find)"}, "program"),
        ({"passage": "a " * 3_000, "tokens": [(2 * n, 2 * n + 1) for n in range(3_000)]}, "tokens"),
    ],
)
def test_what_cannot_be_read_is_refused_with_its_field(untrained, changes, field):
    broken = item(QUESTION, PASSAGE).model_copy(update=changes)
    with pytest.raises(InvalidRequest) as error:
        untrained.check(broken)
    assert error.value.field == field
    with pytest.raises(InvalidRequest):
        untrained.execute([broken])


def test_a_network_without_extract_answer_refuses_it_and_never_writes_it():
    without = system(network(extract=False))
    with pytest.raises(InvalidRequest, match="trained without extract-answer"):
        without.check(item(QUESTION, PASSAGE, program="extract-answer"))
    for execution in run(without, [example.item for example in games(20)]):
        assert "extract-answer" not in execution.program


@pytest.mark.parametrize(
    ("part", "program"),
    [
        ("words.weight", PROGRAM),
        ("parser.choose.bias", None),
        ("parser.ask.bias", None),
        ("modules_.bilinear.numbers", PROGRAM),
        ("modules_.filter_word.bias", "count(filter[long](find[yards]))"),
        ("modules_.extract.2.bias", "extract-answer"),
    ],
)
def test_numbers_that_are_not_finite_are_an_error_of_the_item(part, program):
    broken = network()
    with torch.no_grad():
        broken.get_parameter(part).fill_(torch.nan)
    (outcome,) = predict_each(ExecuteTask(system(broken)), [item(QUESTION, PASSAGE, program=program)])
    assert outcome.error == "prediction_failed"
    assert "logits are not finite numbers" in outcome.message


def test_what_comes_to_no_number_costs_only_its_item(untrained):
    program = "addition(find-num(find[Bo ran]), find-num(find[Bo ran]))"
    items = [
        item("How far?", f"Bo ran {number} yards.", program=program, id=name)
        for name, number in (("a", 12), ("b", 17 * 10**307))
    ]
    fine, failed = predict_each(ExecuteTask(untrained), items)
    assert fine.answer == 24
    assert failed.error == "prediction_failed"
    assert failed.message.endswith("PredictionFailed: the program comes to inf, which is not a number")


def test_weights_come_back_from_disk(tmp_path):
    model = network()
    save(tmp_path, model)
    loaded = load(tmp_path, CPU, name="text-nmn", description="x")
    assert len(loaded.revision) == 12
    for parameter in model.parameters():
        parameter.data = parameter.data.half().float()
    items = [example.item for example in games(3)]
    alike(outputs(loaded.execute(items)), outputs(system(model).execute(items)))
    assert loaded.revision == load_network(tmp_path, CPU)[1]


@pytest.mark.parametrize("name", ["config.json", "model.safetensors", "encoder/config.json"])
def test_a_damaged_folder_is_refused_with_the_file(tmp_path, name):
    save(tmp_path, network())
    (tmp_path / name).write_text("{")
    with pytest.raises(UnreadableWeights, match=name.rpartition("/")[2].partition(".")[0]):
        load_network(tmp_path, CPU)


def test_gradients_reach_every_part():
    model = network().train()
    text = model([model.read(item(QUESTION, PASSAGE))])[0]
    modules = model.modules_
    states = [modules.find(text, text.nowhere)]
    states.append(modules.filter(text, text.nowhere, states[0]))
    states.append(modules.relocate(text, text.nowhere, states[1]))
    mentions = [modules.find_mentions(text, states[0], kind) for kind in ("numbers", "dates")]
    kinds = itertools.chain(states, mentions, [modules.extract_answer(text)])
    weights = [torch.randn(len(text.words)) for _ in range(6)]
    loss = sum((state.weights * w).sum() for state, w in zip(kinds, weights, strict=True))
    loss = loss + modules.compute_end_logits(text, states[2]).square().sum()
    (loss + modules.count(states[0]).values.sum()).backward()
    without = {n for n, p in model.named_parameters() if p.grad is None and not n.startswith("parser")}
    assert without <= {"modules_.gate", "encoder.pooler.dense.weight", "encoder.pooler.dense.bias"}
