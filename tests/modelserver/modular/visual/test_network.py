"""The network over LXMERT: inputs, gradients and invariances."""

import json
import math
from dataclasses import replace
from typing import get_args

import numpy as np
import pytest
import torch

from modelserver.modular.visual import folder
from modelserver.modular.visual.baseline import Baseline
from modelserver.modular.visual.counting import CountKind
from modelserver.modular.visual.network import Question, relate_boxes
from modelserver.modular.visual.plans import plan_program
from modelserver.modular.visual.regions import Regions, collate
from modelserver.modular.visual.scene_data import read_scenes
from modelserver.modular.visual.scoring import compute_node_boxes, compute_scores
from modelserver.modular.visual.utterances import attend
from modelserver.training.visual_nmn.trainer import UNLIKELY_LOGIT, label_boxes

CPU = torch.device("cpu")


def question(program, sentence):
    return Question(plan_program(program), attend(plan_program(program), sentence))


def sights_of(examples):
    return collate([example.regions for example in examples], CPU)


def test_a_batch_of_every_kind_of_statement_is_executed(visual_network, statements):
    for count in get_args(CountKind):
        network = visual_network(count=count)
        forward = network([statement.question for statement in statements], sights_of(statements))
        assert forward.truth.shape == (len(statements),)
        assert ((forward.truth >= 0) & (forward.truth <= 1)).all()
        assert len({round(p, 4) for p in forward.truth.tolist()}) > 5


@pytest.mark.parametrize("count", get_args(CountKind))
def test_words_and_regions_meet_in_a_product_without_attention(visual_network, statements, count, tmp_path):
    network = visual_network(encoder="bilinear", count=count)
    queries, sights = [statement.question for statement in statements], sights_of(statements)
    forward = network(queries, sights)
    (-forward.truth.clamp(min=1e-30).log()).sum().backward()
    for weights in (network.encoder.embeddings.weight, network.encoder.features[0].weight):
        assert weights.grad.abs().sum() > 0
    with torch.no_grad():  # the regions that suit one word best are not those that suit another
        red_scores, star_scores = (
            network([question(f"exist(find[{word}])", f"A {word}.")], sights_of(statements[:1])).scores.score
            for word in ("red", "star")
        )
        assert red_scores.flatten().argsort().tolist() != star_scores.flatten().argsort().tolist()
    folder.save(tmp_path, network, network.config)
    loaded, config, _ = folder.load(tmp_path, CPU)
    assert config == network.config
    with torch.no_grad():
        assert torch.equal(loaded(queries, sights).truth, forward.truth)


def test_the_baseline_needs_an_lxmert(visual_network):
    with pytest.raises(ValueError, match="LXMERT"):
        visual_network(encoder="bilinear", system="lxmert")


@pytest.mark.parametrize("decontextualised", [True, False])
@pytest.mark.parametrize("count", get_args(CountKind))
def test_gradients_flow_to_find_filter_and_the_encoder_through_every_count(
    visual_network, statements, count, decontextualised
):
    network = visual_network(count=count, decontextualised=decontextualised).train()
    query = question("equal(count(filter[red](find[circles])), 2)", "There are two red circles.")
    torch.nn.init.constant_(network.by_words.bias, UNLIKELY_LOGIT)
    forward = network([query], sights_of(statements[:1]))
    forward.scores.score.retain_grad()
    (-forward.truth.clamp(min=1e-30).log()).sum().backward()
    assert forward.scores.score_row == {(0, 2): 0, (0, 3): 1}
    for row in (0, 1):
        assert forward.scores.score.grad[row].abs().sum() > 0
    for weights in (
        network.by_words.weight,
        network.by_region.weight,
        network.encoder.encoder.visn_fc.visn_fc.weight,
    ):
        assert weights.grad.abs().sum() > 0
    network.zero_grad()


def test_gradients_flow_to_both_modules_with_pairs(visual_network, statements):
    network = visual_network()
    queries = [
        question("exist(with-relation[left of](find[star], find[box]))", "A star is left of a box."),
        question("exist(project[flag](find[box]))", "There is a box with a flag."),
    ]
    forward = network(queries, sights_of(statements[:2]))
    forward.outputs.truth.sum().backward()
    assert network.relation.words.weight.grad.abs().sum() > 0
    assert network.project_words.grad.abs().sum() > 0
    network.zero_grad()


@pytest.mark.parametrize("pair_places", [False, True])
def test_a_pair_has_the_same_score_alone_and_among_all(visual_network, pair_places):
    network = visual_network(pair_places=pair_places)
    torch.manual_seed(1)
    corners = torch.rand(3, 2, 5, 2)
    boxes = torch.cat([corners, corners + torch.rand(3, 2, 5, 2)], dim=-1)
    pairs = network.relation(torch.randn(3, 2, 16), torch.randn(3, 2, 5, 16), boxes)
    other = torch.randint(5, (2, 2, 5))
    expected = pairs.score_all([2, 0]).gather(-1, other[..., None]).squeeze(-1)
    assert torch.allclose(pairs.score_chosen([2, 0], other), expected, atol=1e-6)


def test_places_of_pairs_by_hand():
    small, holder = torch.tensor([0.2, 0.2, 0.3, 0.4]), torch.tensor([0.1, 0.1, 0.5, 0.9])
    relation = relate_boxes(small, holder).tolist()
    expected = [-0.05, -0.2, -0.2, -0.4, 1, 0.02 / 0.32, math.log(0.25), math.log(0.25)]
    assert relation == pytest.approx(expected, abs=1e-6)
    nothing = relate_boxes(torch.zeros(4), holder)  # padding
    assert torch.isfinite(nothing).all()


def find_boxes(network, sentence, statements, node=1, program="exist(find[star])"):
    query = question(program, sentence)
    forward = network([query], sights_of(statements[:1]))
    return compute_node_boxes(query.plan, forward, 0, node)


@pytest.mark.parametrize(
    ("config", "other", "same"),
    [
        ({"positions": "kept"}, "There is a green star.", True),  # another word at the same place
        ({"positions": "kept"}, "There is a red star in the left image.", True),
        ({"positions": "kept"}, "In the left image there is a big green star.", False),  # the word moves
        ({"positions": "shifted"}, "In the left image there is a big green star.", True),
        ({"decontextualised": False}, "There is a green star.", False),
    ],
)
def test_decontextualised_find_does_not_change_when_an_unattended_word_does(
    visual_network, statements, config, other, same
):
    network = visual_network(**config)
    with torch.no_grad():
        original_boxes, changed_boxes = (
            find_boxes(network, sentence, statements) for sentence in ("There is a red star.", other)
        )
    assert torch.allclose(original_boxes, changed_boxes, atol=1e-6) == same


def test_kept_words_are_encoded_at_their_places_in_the_sentence(visual_network, statements, monkeypatch):
    network = visual_network(positions="kept")
    calls = []
    forward = network.encoder.forward

    def remember(**arguments):
        calls.append(arguments)
        return forward(**arguments)

    monkeypatch.setattr(network.encoder, "forward", remember)
    with torch.no_grad():
        find_boxes(network, "There is a red star.", statements)
    sentence = network.tokenizer("There is a red star.", return_offsets_mapping=True)
    expected = [
        token if position == 0 or 15 <= start < end <= 19 else network.tokenizer.pad_token_id
        for position, (token, (start, end)) in enumerate(
            zip(sentence["input_ids"], sentence["offset_mapping"], strict=True)
        )
    ]
    assert calls[0]["input_ids"][0].tolist() == expected
    mask = [int(token != network.tokenizer.pad_token_id) for token in expected]
    assert calls[0]["attention_mask"][0].tolist() == mask
    assert 0 < sum(mask) < len(mask)


def test_a_saved_network_keeps_its_positions_and_one_without_the_field_shifts(visual_network, tmp_path):
    for positions in ("kept", "shifted"):
        network = visual_network(positions=positions)
        folder.save(tmp_path, network, network.config)
        assert folder.load(tmp_path, CPU)[1].positions == positions
    saved = json.loads((tmp_path / "config.json").read_text())
    del saved["positions"]
    (tmp_path / "config.json").write_text(json.dumps(saved))
    assert folder.load(tmp_path, CPU)[1].positions == "shifted"


def test_it_changes_when_an_attended_word_does(visual_network, statements):
    network = visual_network(decontextualised=True)
    with torch.no_grad():
        star = find_boxes(network, "There is a red star.", statements)
        box = find_boxes(network, "There is a red star.", statements, program="exist(find[red])")
    assert not torch.allclose(star, box, atol=1e-4)


@pytest.mark.parametrize("count", get_args(CountKind))
@pytest.mark.parametrize("decontextualised", [True, False])
def test_padding_and_the_order_of_a_batch_change_nothing(visual_network, statements, count, decontextualised):
    network = visual_network(count=count, decontextualised=decontextualised)
    few = [
        replace(
            statement,
            regions=tuple(Regions(r.boxes[: 9 + i], r.features[: 9 + i]) for r in statement.regions),
        )
        for i, statement in enumerate(statements[:8])
    ]
    order = [5, 2, 7, 0, 1, 6, 4, 3]
    with torch.no_grad():
        alone = [network([statement.question], sights_of([statement])).truth.item() for statement in few]
        together = network([statement.question for statement in few], sights_of(few)).truth
        turned = network([few[i].question for i in order], sights_of([few[i] for i in order])).truth
    assert together.tolist() == pytest.approx(alone, abs=1e-4)
    assert turned.tolist() == pytest.approx([alone[i] for i in order], abs=1e-4)


def test_the_baseline_reads_the_sentence_and_both_images(visual_network, statements):
    network = visual_network(system="lxmert")
    assert isinstance(network, Baseline)
    sentences = [statement.sentence for statement in statements[:3]]
    with torch.no_grad():
        plain = network(sentences, sights_of(statements[:3]))
        others = network(sentences[::-1], sights_of(statements[:3]))
        swapped = network(sentences, collate([statement.regions[::-1] for statement in statements[:3]], CPU))
    assert plain.shape == (3,)
    assert not torch.allclose(plain[0], others[0])
    assert not torch.allclose(plain, swapped)
    plain_again = network(sentences[:1], sights_of(statements[:1]))
    assert plain_again.item() == pytest.approx(plain[0].item(), abs=1e-5)


def test_words_are_found_in_their_sentence():
    program = "equal(count(filter[Red](find[circles])), count(filter[red](find[big boxes])))"
    laid_out = plan_program(program)
    sentence = "As many red circles as red  big boxes, not bigboxes."
    read = attend(laid_out, sentence)
    words = {
        laid_out.program.nodes[node].argument: sentence[slice(*span)] for node, span in read.spans.items()
    }
    assert words == {"Red": "red", "circles": "circles", "red": "red", "big boxes": "boxes"} or words == {
        "Red": "red", "circles": "circles", "red": "red", "big boxes": "big boxes",
    }  # fmt: skip
    starts = [
        span[0]
        for node, span in sorted(read.spans.items())
        if laid_out.program.nodes[node].module == "filter"
    ]
    assert starts == [8, 23]
    assert read.text == sentence


def test_words_that_are_not_there_come_after_the_sentence():
    read = attend(plan_program("exist(filter[shiny](find[object]))"), "There is a red circle.")
    assert read.text == "There is a red circle. shiny object"
    assert {read.text[slice(*span)] for span in read.spans.values()} == {"shiny", "object"}
    assert attend(plan_program("exist(find)"), "Red?").spans == {1: (0, 4)}


def test_gold_boxes_follow_references_and_label_regions(statements, scenes_folder):
    example = next(statement for statement in statements if "filter" in statement.modules)
    nodes = example.question.plan.program.nodes
    node = next(n for n in example.gold if nodes[n].module == "filter")
    below = example.gold[example.question.plan.program.representative[nodes[node].children[0]]]
    for image in (0, 1):
        boxes = {tuple(box) for box in example.gold[node][image].tolist()}
        assert boxes <= {tuple(box) for box in below[image].tolist()}
    labels = label_boxes(example, below)
    assert labels.shape == (2, 36)
    for image in (0, 1):
        # Every thing has a box of its own, and a copy that may be too far off to have a label.
        count = len(below[image])
        assert count <= (labels[image] == 1).sum() <= 2 * count
    assert (label_boxes(example, (below[0][:0], below[1][:0])) == 0).all()


def test_scores_of_a_network_that_puts_out_gold_are_full(visual_network, statements, monkeypatch):
    """Outputs that equal the gold reach full scores of faithfulness."""
    network = visual_network()
    from modelserver.modular.visual import scoring

    def gold_output(plan_, forward, index, node):
        example = next(statement for statement in statements if statement.question.plan is plan_)
        boxes = example.gold[plan_.program.representative[node]]  # gold is drawn once for equal subtrees
        return (label_boxes(example, boxes) == 1).float()

    monkeypatch.setattr(scoring, "compute_node_boxes", gold_output)
    chosen = list({id(statement.question.plan): statement for statement in statements}.values())
    faithfulness = compute_scores(network, chosen)["faithfulness"]["overall"]
    assert faithfulness["precision"] == 1
    assert faithfulness["recall"] > 0.98


def test_scenes_without_proposals_are_refused(tmp_path):
    with pytest.raises(Exception, match="proposals"):
        read_scenes(tmp_path, "train")


def test_regions_of_one_image_leave_the_other_empty(visual_network):
    rng = np.random.default_rng(1)
    boxes = np.array([[0.1, 0.1, 0.3, 0.3], [0.5, 0.5, 0.9, 0.9]], np.float32)
    sights = collate([[Regions(boxes, rng.random((2, 320), np.float32))]], CPU)
    assert sights.present.tolist() == [[[1, 1], [0, 0]]]
    query = question("exist(in-right-image(find[star]))", "A star on the right.")
    with torch.no_grad():
        forward = visual_network(count="exact")([query], sights)
    assert forward.truth.item() == 0
