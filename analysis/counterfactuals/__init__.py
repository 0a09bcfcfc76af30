"""Counterfactual questions and the words that ought to count for them.

Plain text in, plain text out: any data set of questions over a context can be
probed.

References:
    1. Ray Choudhury, Rogers and Augenstein (2022). Machine Reading, Fast and
       Slow: When Do Models "Understand" Language? COLING.
"""

from .alignment import Alignment, Record, Verdict, alignment_score, alignments, judge, read_records
from .comparison import Counterfactual, swaps
from .contexts import reduce_question
from .coreference import Insertion, insertions
from .drafts import Drafts, draft
from .edits import Edit
from .instances import Instance, Version, instances_text, read_instances
from .partitions import Partition, cluster_of, comparison_partition, coreference_partition, random_partition
from .resolvers import Resolutions, read_resolutions, relevant_cluster
from .reviews import verdict_agreement

__all__ = [
    "Alignment",
    "Counterfactual",
    "Drafts",
    "Edit",
    "Insertion",
    "Instance",
    "Partition",
    "Record",
    "Resolutions",
    "Verdict",
    "Version",
    "alignment_score",
    "alignments",
    "cluster_of",
    "comparison_partition",
    "coreference_partition",
    "draft",
    "insertions",
    "instances_text",
    "judge",
    "random_partition",
    "read_instances",
    "read_records",
    "read_resolutions",
    "reduce_question",
    "relevant_cluster",
    "swaps",
    "verdict_agreement",
]
