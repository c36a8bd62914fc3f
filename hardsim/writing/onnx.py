"""A layout as an ONNX graph, opset 17: words in batches, of any length up to a largest one or of a single length.

The operations, and how they are grouped, are those of model.py. What depends on the length n or the position i is a
table inside the graph, which rows and lengths beyond it are not found in: a runtime then fails, and gives no output.

`Erf` of float64 is implemented by few runtimes. There it is written out (ours, from the Maclaurin series of
e^(x^2) erf x, whose terms are positive): erf(x) = 2/sqrt(pi) e^(-x^2) sum over k >= 0 of 2^k x^(2k+1) / (2k+1)!!, for x
between -6 and 6; beyond, 1 - |erf| is less than 2.2e-17. Of 130 terms at x^2 = 36 the tail is below 2^-60 of the sum.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardsim.errors import InputError, OutOfRange
from hardsim.lang.reals import RealNumber
from hardsim.version import __version__, install_hint
from hardsim.writing.layout import EMBEDDING, POSITIONS, UNEMBEDDING, UNEMBEDDING_BIAS, ExportLayout, nearest_float

OPSET, IR_VERSION = 17, 8
LARGEST_TABLE = 2**25
"""Numbers of one table inside the graph: 256 MiB of float64."""
ERF_END, ERF_TERMS = 6.0, 130
TOKENS, OUTPUTS = "tokens", "outputs"
"""What goes in, and what comes out."""
DTYPES = {"float64": np.float64, "float32": np.float32}


def hold_onnx() -> None:
    """Hold that the library is there.

    Raises:
        InputError: saying how to install it.
    """
    try:
        import onnx  # noqa: F401  # asked for alone
    except ImportError:
        told = "--to onnx needs the library onnx, which is not installed"
        raise InputError(told, install_hint("onnx")) from None


def onnx_bytes(layout: ExportLayout, dtype: str, max_n: int, length: int | None) -> bytes:
    """The file of a layout, for words of up to `max_n` symbols or of exactly `length`.

    Raises:
        InputError: if the library is not installed, or a table would be too large.
        OutOfRange: if a number of the network is beyond float64, or has no value at a length.
    """
    hold_onnx()
    from onnx import TensorProto, helper

    graph = _Graph(layout, DTYPES[dtype], max_n, length)
    graph.whole()
    kind = {"float64": TensorProto.DOUBLE, "float32": TensorProto.FLOAT}[dtype]
    sets = "propositions" in layout.description
    rows: Any = "tokens_read" if length is None else length + layout.fixed
    shape = ["words", rows, *([len(layout.description["propositions"])] if sets else [])]
    given = helper.make_tensor_value_info(TOKENS, kind if sets else TensorProto.INT64, shape)
    found = helper.make_tensor_value_info(OUTPUTS, kind, ["words", rows, len(layout.description[OUTPUTS])])
    made = helper.make_graph(graph.nodes, "hardsim", [given], [found], graph.initializers)
    model = helper.make_model(
        made, opset_imports=[helper.make_opsetid("", OPSET)], producer_name="hardsim", producer_version=__version__
    )
    model.ir_version = IR_VERSION
    helper.set_model_props(model, {"hardsim": json.dumps(layout.description)})
    return bytes(model.SerializeToString(deterministic=True))


@dataclass
class _Graph:
    """Nodes and constants, made one after the other; what makes a node gives the name of its output."""

    layout: ExportLayout
    dtype: Any
    max_n: int
    length: int | None
    nodes: list[Any] = field(default_factory=list)
    initializers: list[Any] = field(default_factory=list)
    known: dict[str, str] = field(default_factory=dict)
    """What is made once, by what it is."""

    def op(self, kind: str, *inputs: str, name: str = "", **attributes: Any) -> str:
        """A node with one output."""
        from onnx import helper

        out = name or f"{kind.lower()}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, list(inputs), [out], **attributes))
        return out

    def constant(self, name: str, array: NDArray[Any]) -> str:
        """An initializer, numbers in the graph's dtype."""
        from onnx import numpy_helper

        if name not in self.known:
            kept = self.rounded(array) if array.dtype == np.float64 else array
            self.initializers.append(numpy_helper.from_array(np.asarray(kept, order="C"), name))
            self.known[name] = name
        return self.known[name]

    def rounded(self, array: NDArray[Any]) -> NDArray[Any]:
        """Numbers in the graph's dtype.

        Raises:
            OutOfRange: if one is beyond it.
        """
        with np.errstate(over="ignore"):
            kept: NDArray[Any] = array.astype(self.dtype)
        lost = array[np.isinf(kept) & np.isfinite(array)]
        if lost.size:
            told = f"a number of the network is beyond {np.dtype(self.dtype).name} ({lost[0]:.3g})"
            raise OutOfRange(told, "Use --dtype float64, or scale the network.")
        return kept

    def number(self, value: float) -> str:
        """A scalar."""
        return self.constant(f"number_{value!r}", np.array(value, dtype=np.float64))

    def integer(self, value: int) -> str:
        """A scalar of int64."""
        return self.constant(f"integer_{value}", np.array(value, dtype=np.int64))

    def array(self, name: str) -> str | None:
        """One of the layout's arrays, if it is there."""
        array = self.layout.arrays.get(name)
        return None if array is None else self.constant(name, array)

    def once(self, what: str, make: Callable[[], str]) -> str:
        """What is made once."""
        if what not in self.known:
            self.known[what] = make()
        return self.known[what]

    # ---- rows and lengths ----

    def rows(self) -> str:
        """0, 1, ..., m - 1 for m tokens that are read."""

        def make() -> str:
            if self.length is not None:
                return self.constant("rows", np.arange(self.length + self.layout.fixed, dtype=np.int64))
            shape = self.op("Shape", TOKENS)
            m = self.op("Gather", shape, self.integer(1), axis=0)
            return self.op("Range", self.integer(0), self.known.setdefault("m", m), self.integer(1))

        return self.once("row numbers", make)

    def place(self) -> str:
        """Where tables have the length, n - 1, if it is dynamic. Without a word it is the end of tables, which is in
        none of them: -1 would be their last row."""
        self.rows()

        def make() -> str:
            found = self.op("Sub", self.known["m"], self.integer(self.layout.fixed + 1))
            return self.op("Where", self.op("Less", found, self.integer(0)), self.integer(self.max_n), found)

        return self.once("n - 1", make)

    def lengths(self) -> Sequence[int]:
        """The lengths that tables have."""
        return range(1, self.max_n + 1) if self.length is None else (self.length,)

    def table(self, name: str, by: frozenset[str], numbers: Callable[[int], list[list[RealNumber]]]) -> str:
        """What functions give by length, columns of numbers row by row: as a node (rows, columns), of one row where
        nothing depends on i."""
        longest = self.lengths()[-1]
        whole = "n" in by and self.length is None
        columns = len(numbers(longest))
        height = longest + self.layout.fixed if "i" in by else 1
        size = (len(self.lengths()) if whole else 1) * height * columns
        if size > LARGEST_TABLE:
            told = f"{name} would be a table of {size:,} numbers in the graph, and {LARGEST_TABLE:,} are the most"
            raise InputError(told, f"Use --max-n below {self.max_n}, or --length for words of one length.")
        found = np.zeros((len(self.lengths()) if whole else 1, height, columns))
        for place, n in enumerate(self.lengths() if whole else (longest,)):
            for column, values in enumerate(numbers(n)):
                some = values[:height]
                found[place, : len(some), column] = [nearest_float(value) for value in some]
        table = self.constant(name, found if whole else found[0])
        if whole:
            table = self.op("Gather", table, self.place(), axis=0)
        if self.length is not None or "i" not in by:
            return table
        return self.op("Gather", table, self.rows(), axis=0)

    # ---- the network ----

    def whole(self) -> None:
        """All of it."""
        told, layout = self.layout.description, self.layout
        x = self.embedded()
        if POSITIONS in layout.arrays:
            x = self.op("Add", x, self.op("Gather", str(self.array(POSITIONS)), self.rows(), axis=0))
        for by in sorted(set(layout.encoded_by.values()), key=sorted):
            places = [place for place, _ in layout.encoded(self.lengths()[-1]) if layout.encoded_by[place] == by]
            x = self.op("Add", x, self.encoding(by, places))
        heads = 0
        for number, layer in enumerate(told["layers"]):
            x = self.layer(f"layers.{number}.", layer, x, heads)
            heads += len(layer["heads"])
        x = self.norm(told.get("final_norm"), "final_norm.", x)
        bias = self.array(UNEMBEDDING_BIAS)
        product = ("MatMul", x, str(self.array(UNEMBEDDING)))
        if bias is None:
            self.op(*product, name=OUTPUTS)
        else:
            self.op("Add", self.op(*product), bias, name=OUTPUTS)

    def embedded(self) -> str:
        """The rows of the embedding."""
        embedding = self.layout.arrays[EMBEDDING]
        if "propositions" not in self.layout.description:
            return self.op("Gather", self.constant(EMBEDDING, embedding), TOKENS, axis=0)
        sums = self.op("MatMul", TOKENS, self.constant("embedding_held", embedding[:-1]))
        return self.op("Add", sums, self.constant("embedding_always", embedding[-1]))

    def encoding(self, by: frozenset[str], places: list[int]) -> str:
        """What positions add to the coordinates of which they are the same functions: (m, d)."""

        def numbers(n: int) -> list[list[RealNumber]]:
            found = dict(self.layout.encoded(n))
            return [found[place] for place in places]

        name = f"encodings_{''.join(sorted(by)) or 'constant'}"
        selection = np.zeros((len(places), self.layout.dimension))
        selection[np.arange(len(places)), places] = 1.0
        return self.op("MatMul", self.table(name, by, numbers), self.constant(f"{name}_where", selection))

    def scale(self, head: int) -> str:
        """What the scores of a head are multiplied by: one number, or one for each row."""
        by, numbers = self.layout.scaled_by, self.layout.scaled
        last = self.lengths()[-1]
        if not by:
            return self.number(nearest_float(numbers(last)[head][0]))
        # one temperature for all heads
        return self.once("scale", lambda: self.table("scale", by, lambda n: [numbers(n)[head]]))

    def plus(self, x: str, bias: str) -> str:
        """With a bias, if there is one of that name."""
        added = self.array(bias)
        return x if added is None else self.op("Add", x, added)

    def product(self, x: str, weight: str, bias: str) -> str:
        """x W + b."""
        return self.plus(self.op("MatMul", x, str(self.array(weight))), bias)

    def layer(self, prefix: str, told: dict[str, Any], x: str, head: int) -> str:
        """Attention, then hidden units."""
        after = told["norms"] == "after"
        if told["heads"] or f"{prefix}b_o" in self.layout.arrays:
            norm = told.get("norm_1"), f"{prefix}norm_1."
            y = x if after else self.norm(*norm, x)
            for place, one in enumerate(told["heads"]):
                x = self.op("Add", x, self.head(f"{prefix}heads.{place}.", one["mask"], y, head + place))
            x = self.plus(x, f"{prefix}b_o")
            x = self.norm(*norm, x) if after else x
        if told["mlp"] is not None:
            norm = told.get("norm_2"), f"{prefix}norm_2."
            entered = self.product(x if after else self.norm(*norm, x), f"{prefix}mlp.w_in", f"{prefix}mlp.b_in")
            hidden = self.activated(told["mlp"], entered, f"{prefix}mlp.cap")
            x = self.plus(
                self.op("Add", x, self.op("MatMul", hidden, str(self.array(f"{prefix}mlp.w_out")))),
                f"{prefix}mlp.b_out",
            )
            x = self.norm(*norm, x) if after else x
        return x

    def head(self, prefix: str, mask: str, y: str, number: int) -> str:
        """One head."""
        q, k, v = (self.product(y, f"{prefix}w_{one}", f"{prefix}b_{one}") for one in "qkv")
        scores = self.op("MatMul", q, self.op("Transpose", k, perm=[0, 2, 1]))
        logits = self.op("Mul", scores, self.scale(number))
        seen = self.seen(mask)
        if seen is not None:
            logits = self.op("Where", seen, logits, self.number(-math.inf))
        powers = self.op("Exp", self.op("Sub", logits, self.op("ReduceMax", logits, axes=[-1], keepdims=1)))
        total = self.op("ReduceSum", powers, self.constant("last_axis", np.array([-1], dtype=np.int64)), keepdims=1)
        return self.op("MatMul", self.op("MatMul", self.op("Div", powers, total), v), str(self.array(f"{prefix}w_o")))

    def seen(self, mask: str) -> str | None:
        """Which keys (columns) each query (row) sees; None: all."""
        if mask == "none":
            return None

        def make() -> str:
            axis = self.constant("axis_0", np.array([0], dtype=np.int64))
            other = self.constant("axis_1", np.array([1], dtype=np.int64))
            key, query = self.op("Unsqueeze", self.rows(), axis), self.op("Unsqueeze", self.rows(), other)
            kind = "Less" if mask.startswith("strict") else "LessOrEqual"
            pair = (key, query) if mask.endswith("future") else (query, key)
            found = self.op(kind, *pair)
            return (
                self.op("Or", found, self.op("Equal", key, self.integer(0)))
                if self.layout.description["bos"]
                else found
            )

        return self.once(f"seen under {mask}", make)

    def activated(self, activation: str, z: str, cap: str) -> str:
        """f, as in model.py."""
        if activation in ("clip", "relu"):
            return self.op("Min", self.op("Relu", z), str(self.array(cap)))
        if activation == "silu":
            return self.op("Mul", z, self.op("Sigmoid", z))
        half = self.op("Mul", z, self.number(0.5))
        if activation == "gelu":
            inner = self.erf(self.op("Mul", z, self.number(math.sqrt(0.5))))
        else:
            cube = self.op("Mul", self.op("Mul", z, z), z)
            total = self.op("Add", z, self.op("Mul", cube, self.number(0.044715)))
            inner = self.op("Tanh", self.op("Mul", total, self.number(math.sqrt(2 / math.pi))))
        return self.op("Mul", half, self.op("Add", inner, self.number(1.0)))

    def erf(self, x: str) -> str:
        """The error function, of float64 written out (see the module)."""
        if self.dtype is not np.float64:
            return self.op("Erf", x)
        x = self.op("Max", self.op("Min", x, self.number(ERF_END)), self.number(-ERF_END))
        square = self.op("Mul", x, x)
        found = self.number(1.0)
        for k in range(ERF_TERMS, 0, -1):  # 1 + 2 x^2/3 (1 + 2 x^2/5 (1 + ...))
            factor = self.op("Mul", square, self.number(2 / (2 * k + 1)))
            found = self.op("Add", self.op("Mul", factor, found), self.number(1.0))
        small = self.op("Mul", self.op("Exp", self.op("Neg", square)), self.op("Mul", x, found))
        return self.op("Mul", small, self.number(2 / math.sqrt(math.pi)))

    def norm(self, told: dict[str, Any] | None, prefix: str, x: str) -> str:
        """A norm, if there is one."""
        if told is None:
            return x
        if told["kind"] == "layer":
            x = self.op("Sub", x, self.op("ReduceMean", x, axes=[-1], keepdims=1))
        square = self.op("ReduceMean", self.op("Mul", x, x), axes=[-1], keepdims=1)
        root = self.op("Sqrt", self.op("Add", square, self.number(float(Fraction(told["epsilon"])))))
        x = self.op("Div", x, root)
        weight = self.array(f"{prefix}weight")
        return self.plus(x if weight is None else self.op("Mul", x, weight), f"{prefix}bias")
