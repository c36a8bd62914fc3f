"""Small hard-attention models whose softmax values are known in closed form, as `.ahat.json` documents.

`some_a` accepts the words that contain an a. The score and the value are 1 at an a and 0 elsewhere. If k of n symbols
are a, softmax gives `k / (k + (n - k) e^(-1/tau))`: exactly 0 for k = 0, and its least positive value for k = 1. The
output is compared with the threshold 3/4. It is right iff `(n - 1) e^(-1/tau) < 1/3`, so iff tau is below `1/ln(3 (n -
1))`.
"""

import json
from copy import deepcopy
from math import log
from pathlib import Path
from typing import Any

Document = dict[str, Any]

HEAD = "some a"
_DOCUMENT: Document = {
    "format": "hardsim-ahat",
    "schema_version": 1,
    "title": "Some a",
    "alphabet": ["a", "b"],
    "coordinates": ["1", "a", "found"],
    "embedding": {"a": {"1": "1", "a": "1"}, "b": {"1": "1"}},
    "layers": [
        {
            "heads": [
                {
                    "name": HEAD,
                    "mask": "none",
                    "weighting": "average",
                    "w_q": [{"1": "1"}],
                    "w_k": [{"a": "1"}],
                    "w_v": {"found": {"a": "1"}},
                }
            ]
        }
    ],
    "output": "found",
    "threshold": "3/4",
}


def critical(n: int) -> float:
    """Return the temperature from which on `some_a` is wrong at length n >= 2, on the words with one a."""
    return 1 / log(3 * (n - 1))


def some_a(**changes: Any) -> Document:
    """Return the document of the model; `changes` replace values at its top level."""
    return deepcopy(_DOCUMENT) | changes


def some_a_by_words(**changes: Any) -> Document:
    """Return the same model with a coordinate that nothing reads and that is no rational function of the length.

    So nothing can be derived from its structure, and a length is proved by running all its words.
    """
    encodings = [{"coordinate": "unknown", "value": "2^(-n)"}]
    return some_a(coordinates=["1", "a", "found", "unknown"], encodings=encodings, **changes)


def with_head(document: Document | None = None, **changes: Any) -> Document:
    """Return the model with `changes` of the attributes of its head."""
    changed = deepcopy(some_a() if document is None else document)
    changed["layers"][0]["heads"][0] |= changes
    return changed


def majority() -> Document:
    """Return a model that compares the share of a, by uniform attention, with 1/2.

    With as many a as b the output is the threshold: neither accepted nor rejected.
    """
    return with_head(some_a(threshold="1/2", title="More a than b"), w_q=[], w_k=[])


def sided(weighting: str) -> Document:
    """Return a model that accepts if, of the positions with the largest score, the first (leftmost) or last
    (rightmost) is an a.

    The score is 1 at a or b and 0 at c, so that two letters are a tie; the value is 1 at a.
    """
    document = with_head(some_a(threshold="1/2"), weighting=weighting, w_k=[{"letter": "1"}])
    letters = {"a": {"1": "1", "a": "1", "letter": "1"}, "b": {"1": "1", "letter": "1"}, "c": {"1": "1"}}
    return document | {"alphabet": ["a", "b", "c"], "coordinates": ["1", "a", "letter", "found"], "embedding": letters}


def shares() -> Document:
    """Return a model that compares with 1/2 + 1/(4n) the mean, over all prefixes, of the share of a among a and b.

    A prefix without a and b counts with its share of a among all symbols, 0. On baacca the output is exactly the
    threshold: the shares are 0, 1/2, 2/3, 2/3, 2/3, 3/4, whose mean is 13/24 = 1/2 + 1/24.
    """
    document = with_head(some_a(threshold="1/2"), mask="future", w_k=[{"letter": "1"}], w_v={"share": {"a": "1"}})
    mean = {"name": "mean", "mask": "none", "weighting": "average", "w_q": [], "w_k": [],
            "w_v": {"found": {"share": "1"}}}  # fmt: skip
    letters = {"a": {"1": "1", "a": "1", "letter": "1"}, "b": {"1": "1", "letter": "1"}, "c": {"1": "1"}}
    return document | {
        "alphabet": ["a", "b", "c"],
        "coordinates": ["1", "a", "letter", "share", "found"],
        "embedding": letters,
        "encodings": [{"coordinate": "found", "value": "-1/(4*n)"}],
        "layers": [*document["layers"], {"heads": [mean]}],
    }


def write(directory: Path, document: Document, name: str = "model.ahat.json") -> Path:
    """Write the document to a file in a directory; return its path."""
    path = directory / name
    path.write_text(json.dumps(document), encoding="utf-8")
    return path
