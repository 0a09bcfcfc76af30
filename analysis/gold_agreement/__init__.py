"""Inter-annotator agreement on boxes or spans, node by node of a program.

`agreement` measures it, with the node at which every two people first part;
`clusters` groups the objects of several people that mean the same thing, for
adjudication.
"""

from .agreement import DRAWN, Agreement, Group, Metrics, Parting, agreement
from .clusters import Cluster, box_clusters, span_clusters
from .items import Item, Node, finer, nodes_of, units_between

__all__ = [
    "DRAWN",
    "Agreement",
    "Cluster",
    "Group",
    "Item",
    "Metrics",
    "Node",
    "Parting",
    "agreement",
    "box_clusters",
    "finer",
    "nodes_of",
    "span_clusters",
    "units_between",
]
