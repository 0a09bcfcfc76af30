"""Inter-annotator agreement on boxes or spans, node by node of a program.

`agreement` measures it, with the node at which every two people first part;
`clusters` groups the objects of several people that mean the same thing, for
adjudication.
"""

from .agreement import DRAWN, NUMBERS, TRUTHS, Agreement, Group, Metrics, Parting, agreement
from .clusters import Cluster, box_clusters, span_clusters
from .items import Item, Node, nodes_of, split_tokens, units_between
from .outlines import Outline, ellipse_outline

__all__ = [
    "DRAWN",
    "NUMBERS",
    "TRUTHS",
    "Agreement",
    "Cluster",
    "Group",
    "Item",
    "Metrics",
    "Node",
    "Outline",
    "Parting",
    "agreement",
    "box_clusters",
    "ellipse_outline",
    "nodes_of",
    "span_clusters",
    "split_tokens",
    "units_between",
]
