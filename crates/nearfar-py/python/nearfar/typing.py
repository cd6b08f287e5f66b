"""Types of keywords, for annotations of functions that pass them on.

``def train(graph, **options: Unpack[EmbedKeywords])`` accepts what ``embed`` does; ``Law`` is the name of a
distribution of negatives.
"""

from ._keywords import (
    ClassifyKeywords,
    Distance,
    EmbedKeywords,
    InputFormat,
    Law,
    LinksKeywords,
    MeasureKeywords,
    Metric,
    Repeats,
    ReportKeywords,
    SamplerKeywords,
    UpdateKeywords,
)
from ._keywords import GraphOptions as GraphKeywords

__all__ = [
    "ClassifyKeywords",
    "Distance",
    "EmbedKeywords",
    "GraphKeywords",
    "InputFormat",
    "Law",
    "LinksKeywords",
    "MeasureKeywords",
    "Metric",
    "Repeats",
    "ReportKeywords",
    "SamplerKeywords",
    "UpdateKeywords",
]
