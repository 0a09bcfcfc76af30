"""`visual-nmn` and `lxmert` as systems.

The tests check folders, images, region files, executions and training.
"""

import base64
import io
import json
import shutil

import numpy as np
import pytest
import torch
from PIL import Image, ImageDraw

from modelserver.__main__ import main
from modelserver.modular.visual import folder
from modelserver.modular.visual.images import decode, propose
from modelserver.modular.visual.network import Config
from modelserver.modular.visual.system import REGIONS, VisualSystem, load
from modelserver.registry import load_modular_system
from modelserver.wire.errors import InvalidRequest, PredictionFailed, UnreadableWeights
from modelserver.wire.schema import ModuleImage, ModuleItem
from tests.modelserver.modular.visual.region_rows import regions_row

CPU = torch.device("cpu")
PROGRAM = "equal(count(in-left-image(filter[red](find[squares]))), 2)"


def picture(*squares, size=(320, 240)):
    """Return a PNG in base64 with squares of 40 pixels at given places."""
    image = Image.new("RGB", size, (245, 245, 240))
    for x, y, colour in squares:
        ImageDraw.Draw(image).rectangle((x, y, x + 39, y + 39), fill=colour)
    written = io.BytesIO()
    image.save(written, "PNG")
    return base64.b64encode(written.getvalue())


LEFT = picture((20, 20, "red"), (200, 100, "red"), (100, 180, "blue"))
RIGHT = picture((50, 60, "black"))


def item(name="one", program=PROGRAM, text="Two red squares.", images=(LEFT, RIGHT), **others):
    shown = [ModuleImage(name=f"{i}.png", data=picture_data) for i, picture_data in enumerate(images)]
    return ModuleItem(id=name, text=text, program=program, images=shown, **others)


@pytest.fixture(scope="module")
def saved(visual_network, tmp_path_factory):
    """A folder of each system."""
    folders = {}
    for name in ("visual-nmn", "lxmert"):
        folders[name] = tmp_path_factory.mktemp(name)
        folder.save(folders[name], visual_network(system=name), Config(name))
    return folders


@pytest.fixture(scope="module")
def system(saved):
    return load(saved["visual-nmn"], CPU, name="visual-nmn", description="")


def test_it_executes_a_program(system):
    (execution,) = system.execute([item()])
    assert (execution.id, execution.program) == ("one", PROGRAM)
    assert isinstance(execution.answer, bool)
    assert [len(boxes) for boxes in execution.proposals] == [3, 1]
    assert [node.module for node in execution.modules] == [
        "equal",
        "count",
        "in-left-image",
        "filter",
        "find",
        "2",
    ]
    assert [len(node.probabilities) for node in execution.modules] == [0, 0, 4, 4, 4, 0]
    assert execution.modules[2].probabilities[3] == 0  # it is in the right image
    assert execution.modules[3].probabilities[:3] == execution.modules[2].probabilities[:3]
    assert execution.modules[0].value is execution.answer
    assert execution.modules[5].value == 2
    assert execution.modules[1].value > 0


def test_it_is_loaded_by_name_and_can_execute_its_warm_up(saved):
    for name, where in saved.items():
        system = load_modular_system(name, weights=where)
        system.check(system.warm_up)
        assert isinstance(system.execute([system.warm_up])[0].answer, bool)
        assert len(system.revision) == 12
        assert system.cost(system.warm_up) > 0


def test_an_item_is_executed_alike_beside_others(system):
    items = [
        item(),
        item("two", "exist(find[square])", "A square.", (RIGHT,)),
        item("three", "find[square]", "Squares."),
    ]
    together = system.execute(items)
    alone = [system.execute([module_item])[0] for module_item in items]
    for batched, single in zip(together, alone, strict=True):
        assert batched.answer == single.answer
        for node, same in zip(batched.modules, single.modules, strict=True):
            assert node.probabilities == pytest.approx(same.probabilities, abs=1e-5)
    assert isinstance(together[2].answer, int)
    assert system.execute([]) == []


def test_a_node_that_runs_for_each_image_has_no_single_value(system):
    (execution,) = system.execute([item(program="in-each-image(exist(find[square]))")])
    assert [node.value for node in execution.modules[1:]] == [None, None]
    assert [len(node.values) for node in execution.modules] == [0, 2, 0]
    assert execution.modules[0].value == all(execution.modules[1].values)
    assert len(execution.modules[2].probabilities) == 4


def test_the_baseline_answers_without_a_program(saved):
    system = load(saved["lxmert"], CPU, name="lxmert", description="")
    (execution,) = system.execute([item(program=None)])
    assert isinstance(execution.answer, bool)
    assert execution.modules == []


@pytest.mark.parametrize(
    "wrong, field",
    [
        ({"program": None}, "program"),
        ({"program": "exist(find[a]"}, "program"),
        ({"program": f"exist({'filter[a](' * 70}find[b]{')' * 70})"}, "program"),
        ({"images": ()}, "images"),
        ({"images": (LEFT,) * 3}, "images"),
        ({"images": (LEFT, base64.b64encode(b"no image"))}, "images.1.data"),
        ({"images": (base64.b64encode(base64.b64decode(LEFT)[:200]), LEFT)}, "images.0.data"),
        ({"passage": "A passage."}, "passage"),
        ({"text": "square " * 200}, "text"),
    ],
)
def test_what_cannot_be_executed_is_refused_by_field(system, wrong, field):
    with pytest.raises(InvalidRequest) as caught:
        system.check(item(**wrong))
    assert caught.value.field == field


def test_pixels_are_bounded(monkeypatch):
    monkeypatch.setattr("modelserver.modular.visual.images.MOST_PIXELS", 1000)
    with pytest.raises(InvalidRequest, match="at most 1000") as caught:
        decode(base64.b64decode(LEFT), "images.0.data")
    assert caught.value.field == "images.0.data"


def test_the_proposer_finds_what_is_drawn():
    boxes = propose(decode(base64.b64decode(LEFT), "")).boxes
    expected = [
        [x / 320, y / 240, (x + 40) / 320, (y + 40) / 240] for x, y in ((20, 20), (200, 100), (100, 180))
    ]
    assert np.array(sorted(boxes.tolist())) == pytest.approx(np.array(sorted(expected)), abs=0.005)
    nothing = propose(Image.new("RGB", (50, 50), "white"))
    assert nothing.boxes.shape == (0, 4)
    assert nothing.features.shape == (0, 320)


def test_a_picture_with_nothing_on_it_is_executed(system):
    (execution,) = system.execute([item(images=(picture(), picture()))])
    assert execution.proposals == [[], []]


def test_what_is_transparent_is_white():
    image = Image.new("RGBA", (40, 40), (0, 0, 0, 0))
    written = io.BytesIO()
    image.save(written, "PNG")
    assert decode(written.getvalue(), "").getpixel((3, 3)) == (255, 255, 255)


def test_region_features_come_from_a_file_by_the_image_s_name(saved, tmp_path, monkeypatch):
    features = np.random.default_rng(1).random((2, 320), np.float32)
    row = regions_row("dev-1-img0", [[20, 10, 60, 50], [100, 50, 200, 100]], features)
    (tmp_path / "features.tsv").write_text(row)
    monkeypatch.setenv(REGIONS, str(tmp_path / "features.tsv"))
    system = load(saved["visual-nmn"], CPU, name="visual-nmn", description="")
    named = ModuleItem(
        id="a", text="A dog.", program="exist(find[dog])", images=[ModuleImage(name="images/dev-1-img0.png")]
    )
    (execution,) = system.execute([named])
    assert np.array(execution.proposals[0]) == pytest.approx(
        np.array([[0.1, 0.1, 0.3, 0.5], [0.5, 0.5, 1, 1]])
    )
    with pytest.raises(InvalidRequest, match="no region features") as caught:
        system.check(named.model_copy(update={"images": [ModuleImage(name="other.png")]}))
    assert caught.value.field == "images.0.name"


def test_a_damaged_image_of_a_region_file_is_an_error_of_its_item(saved, tmp_path, monkeypatch):
    features = np.ones((1, 320), np.float32)
    rows = [regions_row(name, [[0, 0, 10, 10]], features) for name in ("good", "damaged")]
    (tmp_path / "f.tsv").write_text(rows[0] + rows[1].replace("AIA/", "!!!!"))
    monkeypatch.setenv(REGIONS, str(tmp_path / "f.tsv"))
    system = load(saved["visual-nmn"], CPU, name="visual-nmn", description="")
    module_item = ModuleItem(
        id="a", text="A dog.", program="exist(find[dog])", images=[ModuleImage(name="good")]
    )
    system.check(module_item)
    with pytest.raises(InvalidRequest, match=r"f\.tsv, line 2: features: not base64") as caught:
        system.check(module_item.model_copy(update={"images": [ModuleImage(name="damaged")]}))
    assert caught.value.field == "images.0.name"


def test_regions_of_another_size_are_refused(visual_network):
    rng = np.random.default_rng(1)
    from modelserver.modular.visual.regions import Regions

    regions = {"x": Regions(np.array([[0, 0, 1, 1]], np.float32), rng.random((1, 2048), np.float32))}
    system = VisualSystem(visual_network(), name="", description="", revision="", regions=regions)
    named = ModuleItem(id="a", text="A dog.", program="exist(find[dog])", images=[ModuleImage(name="x")])
    wrong = (
        "features of 'x' have 2048 numbers for each region, this system reads 320; name .* MODELSERVER_REG"
    )
    with pytest.raises(InvalidRequest, match=wrong) as caught:
        system.check(named)
    assert caught.value.field == "images.0.name"
    # Features for another system do not keep this one from the picture.
    pictured = ModuleImage(name="x", data=picture((20, 20, "red")))
    (executed,) = system.execute([named.model_copy(update={"images": [pictured]})])
    assert len(executed.proposals[0]) == 1


def test_a_network_on_2048_wide_features_is_warmed_up_and_served(tmp_path, statements, monkeypatch):
    """A detector's features are found by the name of a picture.

    The file has LXMERT's columns.
    """
    torch.manual_seed(1)
    encoder, tokenizer = folder.create_encoder([s.sentence for s in statements], hidden=16, features=2048)
    network = folder.build(Config(), encoder, tokenizer)
    folder.save(tmp_path / "wide", network, Config())
    boxes = [[0, 0, 100, 50], [20, 10, 200, 100]]
    features = np.random.default_rng(1).random((2, 2048), np.float32)
    (tmp_path / "regions.tsv").write_text(regions_row("photo", boxes, features))
    monkeypatch.setenv(REGIONS, str(tmp_path / "regions.tsv"))
    system = load(tmp_path / "wide", CPU, name="visual-nmn", description="")
    assert system.execute([system.warm_up])[0].id == "warm-up"
    image = ModuleImage(name="photo.png", data=picture((20, 20, "red")))
    (executed,) = system.execute(
        [ModuleItem(id="a", text="A dog.", program="exist(find[dog])", images=[image])]
    )
    assert executed.proposals == [[(0, 0, 0.5, 0.5), (0.1, 0.1, 1, 1)]]
    unknown = image.model_copy(update={"name": "b"})
    other = ModuleItem(id="b", text="A dog.", program="exist(find[dog])", images=[unknown])
    missing = "of 'b' are here, and this system reads 2048 .* not pictures; name .* MODELSERVER_REGIONS"
    with pytest.raises(InvalidRequest, match=missing) as caught:
        system.check(other)
    assert caught.value.field == "images.0.name"


def test_damaged_weights_are_refused_by_file(saved, tmp_path):
    with pytest.raises(UnreadableWeights, match=r"config\.json"):
        folder.load(tmp_path, CPU)
    for name in ("config.json", "model.safetensors"):
        (tmp_path / name).write_bytes((saved["visual-nmn"] / name).read_bytes())
    (tmp_path / "model.safetensors").write_bytes(b"nothing")
    with pytest.raises(UnreadableWeights, match="tokenizer"):
        folder.load(tmp_path, CPU)


@pytest.mark.parametrize(
    "changes, message",
    [
        ({"system": "qi2019"}, "the folder holds weights of qi2019, not of visual-nmn or lxmert"),
        ({"partner": "zzz"}, "partner: Input should be 'best' or 'any'"),
        ({"positions": "bogus"}, "positions: Input should be 'kept' or 'shifted'"),
        ({"impossible": "foo"}, "impossible: Input should be 'apart' or 'alike'"),
        ({"encoder": {"model_type": "bert"}}, "encoder: its model_type is bert; networks over regions need"),
        ({"count": "layer"}, r"Error\(s\) in loading state_dict for VisualNetwork: Missing key.* …$"),
    ],
)
def test_a_configuration_that_does_not_fit_is_refused(saved, tmp_path, changes, message):
    copy = shutil.copytree(saved["visual-nmn"], tmp_path / "copy")
    described = json.loads((copy / "config.json").read_text())
    (copy / "config.json").write_text(json.dumps(described | changes))
    with pytest.raises(UnreadableWeights, match=message):
        folder.load(copy, CPU)


def test_weights_of_another_system_are_refused(saved, tmp_path):
    with pytest.raises(UnreadableWeights, match="holds weights of lxmert, not of visual-nmn"):
        load(saved["lxmert"], CPU, name="visual-nmn", description="")
    (tmp_path / "config.json").write_text('{"model_type": "lxmert"}')
    with pytest.raises(UnreadableWeights, match=r"holds a model of transformers \(lxmert\), not weights of"):
        folder.load(tmp_path, CPU)


@pytest.mark.parametrize(
    "given, message",
    [
        ("--data a.jsonl --regions b --proposer", "--proposer needs --scenes"),
        ("--test-file a.jsonl --regions b --split dev", "--split needs --scenes"),
        ("--scenes a --regions b", "--regions needs --data"),
    ],
)
def test_an_option_of_other_data_is_refused(capsys, given, message):
    assert main(["visual-evaluate", *given.split()]) == 2
    assert f"error: {message}: " in capsys.readouterr().err


@pytest.mark.parametrize("name", ["visual-nmn", "lxmert"])
def test_numbers_that_are_not_finite_are_refused(saved, tmp_path, name):
    copy = shutil.copytree(saved[name], tmp_path / "copy")
    system = load(copy, CPU, name=name, description="")
    part = "head.0.bias" if name == "lxmert" else "by_words.bias"
    with torch.no_grad():
        system.model.get_parameter(part)[0] = torch.nan
    with pytest.raises(PredictionFailed, match="not finite"):
        system.execute([system.warm_up])
    folder.save(copy, system.model, folder.load(saved[name], CPU)[1])
    with pytest.raises(UnreadableWeights, match="bias: 1 of its numbers are not finite"):
        folder.load(copy, CPU)


def test_a_folder_loads_as_it_was_saved(saved, visual_network):
    network, config, revision = folder.load(saved["visual-nmn"], CPU)
    assert config == Config("visual-nmn")
    expected = visual_network().state_dict()
    assert all(torch.equal(tensor, expected[name]) for name, tensor in network.state_dict().items())
    assert folder.load(saved["visual-nmn"], CPU)[2] == revision


def test_the_shipped_weights_do_on_other_scenes_about_what_their_card_says(scenes_folder, capsys):
    command = ["visual-evaluate", "--scenes", str(scenes_folder), "--split", "train"]
    reports = []
    for regions in ([], ["--proposer"]):
        assert main([*command, *regions]) == 0
        reports.append(json.loads(capsys.readouterr().out))
    stored, proposed = (report["faithfulness"] for report in reports)
    assert stored["find"]["f1"] > 0.9
    assert stored["overall"]["f1"] > 0.8
    assert min(stored[module]["f1"] for module in ("with-relation", "project")) > 0.6
    assert reports[0]["accuracy"] > 0.8
    assert proposed["find"]["f1"] > 0.6
    assert proposed["find"]["precision"] > 0.8


def test_outputs_of_a_system_without_modules_are_refused(saved, scenes_folder, tmp_path, capsys):
    command = ["visual-evaluate", "--scenes", str(scenes_folder), "--split", "train"]
    given = ["--weights", str(saved["lxmert"]), "--outputs", str(tmp_path / "out.jsonl")]
    assert main([*command, *given]) == 2
    assert "is an lxmert, which has no modules" in capsys.readouterr().err
    assert not (tmp_path / "out.jsonl").exists()


def test_the_shipped_weights_execute_pictures(statements):
    """An item goes its whole way, from pictures to an answer."""
    system = load_modular_system("visual-nmn")
    items = [
        item(
            statement.id,
            str(statement.question.plan.program),
            statement.sentence,
            [base64.b64encode(path.read_bytes()) for path in statement.pictures],
        )
        for statement in statements
    ]
    executions = system.execute(items)
    assert [execution.id for execution in executions] == [statement.id for statement in statements]
    assert all(len(boxes) > 2 for execution in executions for boxes in execution.proposals)
    assert len({execution.answer for execution in executions}) == 2
