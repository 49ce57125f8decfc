"""Choose the rows that differ most from each other. No side effects.

For each subtask, ToolBeHonest keeps the 100 of 300 samples with the greatest variation in task and
tool descriptions (section 3.4), without saying how. Here similarity is the mean of two cosines of
TF-IDF weights, for the tasks and for the tools; rows are added one by one, each time the one
that is farthest from its nearest chosen row.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from toolhop_tools.perturb.nearest import TfIdf

_WORD = re.compile(r"\w+")


def most_varied(rows: Sequence[Sequence[str]], size: int) -> list[int]:
    """Return the indexes of the rows to keep, in order; all if there are at most `size`.

    Args:
        rows: the texts of each row, such as its task and its tools; the same number for every row.
        size: number of rows to keep.
    """
    if len(rows) <= size:
        return [*range(len(rows))]
    likeness = sum(_cosines([row[n] for row in rows]) for n in range(len(rows[0])))
    table = np.round(np.asarray(likeness, dtype=np.float64), 9)
    kept = [int(np.argmin(table.sum(axis=1)))]
    nearest = table[kept[0]].copy()
    while len(kept) < size:
        nearest[kept] = np.inf
        kept.append(int(np.argmin(nearest)))
        nearest = np.maximum(nearest, table[kept[-1]])
    return sorted(kept)


def _cosines(texts: Sequence[str]) -> NDArray[np.float64]:
    counts = [Counter(_WORD.findall(text.casefold())) for text in texts]
    model = TfIdf(counts)
    columns = {
        word: n for n, word in enumerate(sorted({word for count in counts for word in count}))
    }
    vectors = np.zeros((len(texts), len(columns)))
    for number, count in enumerate(counts):
        for word, weight in model.weights(count).items():
            vectors[number, columns[word]] = weight
    return np.asarray(vectors @ vectors.T, dtype=np.float64)
