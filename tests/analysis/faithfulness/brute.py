"""Random gold and outputs, and their scores by a plain loop over boxes."""

from collections import defaultdict

import numpy as np

from analysis.faithfulness.examples import GoldExample, GoldModule, OutputExample, OutputModule, is_scored

MODULES = ("find", "filter", "with-relation", "project", "count", "in-left-image")


def boxes(*rows):
    return np.array(rows, dtype=float).reshape(-1, 4)


def example(name, modules, images=2):
    """modules: (module, boxes per image), in program order."""
    nodes = (GoldModule(index, module, drawn) for index, (module, drawn) in enumerate(modules))
    return GoldExample(name, tuple(nodes))


def output(name, proposals, modules):
    """modules: (module, probabilities), in program order."""
    nodes = (OutputModule(i, module, np.array(p, dtype=float)) for i, (module, p) in enumerate(modules))
    return OutputExample(name, tuple(proposals), tuple(nodes))


def one_node(gold, proposals, probabilities, module="find"):
    """Return one example of one node and one image."""
    return [example("e", [(module, (gold,))])], [output("e", (proposals,), [(module, probabilities)])]


def random_boxes(rng, count):
    """Return boxes on a coarse grid.

    Overlaps of exactly one half, equal boxes and boxes without area turn up.
    """
    corners = rng.integers(0, 2, (count, 2))
    return np.concatenate([corners, corners + rng.integers(0, 4, (count, 2))], axis=1).astype(float)


def random_case(seed, examples=4, images=2):
    """Return gold with nodes of all kinds, and outputs over proposals."""
    rng = np.random.default_rng(seed)
    gold, outputs = [], []
    for number in range(examples):
        proposals = [random_boxes(rng, rng.integers(0, 5)) for _ in range(images)]
        nodes, predictions = [], []
        for _ in range(rng.integers(0, 5)):
            module = MODULES[rng.integers(len(MODULES))]
            drawn = tuple(random_boxes(rng, rng.integers(0, 4)) for _ in range(images))
            nodes.append((module, None if rng.random() < 0.1 else drawn))
            predictions.append((module, np.round(rng.random(sum(map(len, proposals))), 1)))
        gold.append(example(f"e{number}", nodes))
        outputs.append(output(f"e{number}", proposals, predictions))
    return gold, outputs


def overlap(a, b):
    width, height = min(a[2], b[2]) - max(a[0], b[0]), min(a[3], b[3]) - max(a[1], b[1])
    if width <= 0 or height <= 0:
        return 0.0
    area = [(box[2] - box[0]) * (box[3] - box[1]) for box in (a, b)]
    return width * height / (sum(area) - width * height)


def scored(good, bad, hit, missed):
    precision = good / (good + bad) if good + bad else 1.0
    recall = hit / (hit + missed) if hit + missed else 1.0
    f1 = 2 * precision * recall / (precision + recall) if precision + recall else 0.0
    return precision, recall, f1


def count(gold, proposals, probabilities, reference):
    """Good, bad, bad when apart, hit and missed boxes of one node and image."""
    good = bad = apart = hit = missed = 0
    for box, probability in zip(proposals, probabilities, strict=True):
        if probability > 0.5:
            best = max((overlap(box, gold_box) for gold_box in gold), default=0.0)
            good += best > 0.5
            bad += best < 0.5 if reference else best <= 0.5
            apart += best < 1e-8
    for gold_box in gold:
        if any(
            p > 0.5 and overlap(box, gold_box) > 0.5 for box, p in zip(proposals, probabilities, strict=True)
        ):
            hit += 1
        else:
            missed += 1
    return good, bad, apart, hit, missed


def brute(gold, outputs, reference=False):
    """averaging -> module -> (precision, recall, f1, n)."""
    listed: dict[tuple[str, str], list] = defaultdict(list)
    pooled: dict[str, list[int]] = defaultdict(lambda: [0] * 5)
    having: dict[str, set[str]] = defaultdict(set)
    for target, prediction in zip(gold, outputs, strict=True):
        summed: dict[str, list[int]] = defaultdict(lambda: [0] * 5)
        if reference:
            summed["overall"] = [0] * 5
            having["overall"].add(target.id)
            pooled.setdefault("overall", [0] * 5)
        for node, values in zip(target.modules, prediction.modules, strict=True):
            if node.boxes is None or not is_scored(node.module):
                continue
            start = 0
            for drawn, proposals in zip(node.boxes, prediction.proposals, strict=True):
                p = values.probabilities[start : start + len(proposals)]
                start += len(proposals)
                counts = count(drawn, proposals, p, reference)
                for name in ("overall", node.module):
                    having[name].add(target.id)
                    listed["per_occurrence", name].append(scored(*counts[:2], *counts[3:]))
                    for column in range(5):
                        summed[name][column] += counts[column]
                        pooled[name][column] += counts[column]
        for name, (good, bad, apart, hit, missed) in summed.items():
            listed["per_example", name].append(scored(good, bad, hit, missed))
            listed["negative_iou", name].append(scored(good, apart, hit, missed))
    scores: dict[str, dict] = defaultdict(dict)
    for (averaging, name), values in listed.items():
        scores[averaging][name] = (*np.mean(values, axis=0), len(values))
    for name, (good, bad, _, hit, missed) in pooled.items():
        scores["cumulative"][name] = (*scored(good, bad, hit, missed), len(having[name]))
    return scores


def ideal(gold, outputs):
    """Return the outputs of the upper bound."""
    best_outputs = []
    for target, prediction in zip(gold, outputs, strict=True):
        nodes = []
        for node in target.modules:
            p = [
                float(any(overlap(box, gold_box) > 0.5 for gold_box in node.boxes[image]))
                for image, proposals in enumerate(prediction.proposals)
                for box in proposals
                if node.boxes is not None
            ]
            nodes.append(OutputModule(node.index, node.module, np.array(p)))
        best_outputs.append(OutputExample(prediction.id, prediction.proposals, tuple(nodes)))
    return best_outputs
