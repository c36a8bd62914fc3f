"""Write a layout as an ONNX graph, opset 17, for batches of words: of any length up to a largest one, or of one
length.

The operations, and their order, are those of model.py. Values that depend on the length n or the position i are
tables inside the graph. For rows or lengths beyond a table the runtime fails, and gives no output.

Few runtimes implement `Erf` of float64. Therefore it is written out (ours, from the Maclaurin series of e^(x^2) erf
x, whose terms are positive): erf(x) = 2/sqrt(pi) e^(-x^2) sum over k >= 0 of 2^k x^(2k+1) / (2k+1)!!, for x between
-6 and 6; beyond, 1 - |erf| is less than 2.2e-17. With 130 terms at x^2 = 36 the tail is below 2^-60 of the sum.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import field
from fractions import Fraction
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardsim.errors import InputError, OutOfRange
from hardsim.lang.reals import RealNumber
from hardsim.lazy_dataclass import dataclass
from hardsim.version import __version__, install_hint
from hardsim.writing.layout import (
    EMBEDDING,
    EMBEDDING_BIAS,
    POSITIONS,
    PROJECTION,
    PROJECTION_BIAS,
    TRANSFORM,
    UNEMBEDDING,
    UNEMBEDDING_BIAS,
    ExportLayout,
    nearest_float,
)

OPSET, IR_VERSION = 17, 8
LARGEST_TABLE = 2**25
"""The greatest number of entries of one table inside the graph: 256 MiB of float64."""
ERF_END, ERF_TERMS = 6.0, 130
TOKENS, OUTPUTS = "tokens", "outputs"
"""The names of the graph's input and output."""
DTYPES = {"float64": np.float64, "float32": np.float32}


def require_onnx() -> None:
    """Raise InputError, which says how to install it, if the library onnx is not installed."""
    try:
        import onnx  # noqa: F401  # asked for alone
    except ImportError:
        message = "--to onnx needs the library onnx, which is not installed"
        raise InputError(message, install_hint("onnx")) from None


def onnx_bytes(layout: ExportLayout, dtype: str, max_n: int, length: int | None) -> bytes:
    """Return the file of a layout, for words of up to `max_n` symbols or of exactly `length`. Raises InputError if the
    library is not installed, or a table would be too large; OutOfRange if a number of the network is beyond float64, or
    has no value at a length."""
    require_onnx()
    from onnx import TensorProto, helper

    graph = _Graph(layout, DTYPES[dtype], max_n, length)
    graph.whole()
    kind = {"float64": TensorProto.DOUBLE, "float32": TensorProto.FLOAT}[dtype]
    sets = "propositions" in layout.description
    rows: Any = "tokens_read" if length is None else length + layout.fixed
    read = 1 if layout.description["at"] == "mean" else rows
    shape = ["words", rows, *([len(layout.description["propositions"])] if sets else [])]
    given = helper.make_tensor_value_info(TOKENS, kind if sets else TensorProto.INT64, shape)
    found = helper.make_tensor_value_info(OUTPUTS, kind, ["words", read, len(layout.description[OUTPUTS])])
    made = helper.make_graph(graph.nodes, "hardsim", [given], [found], graph.initializers)
    model = helper.make_model(
        made, opset_imports=[helper.make_opsetid("", OPSET)], producer_name="hardsim", producer_version=__version__
    )
    model.ir_version = IR_VERSION
    helper.set_model_props(model, {"hardsim": json.dumps(layout.description)})
    # The same network must give the same file.
    return bytes(model.SerializeToString(deterministic=True))


@dataclass
class _Graph:
    """A graph under construction: nodes and constants in order. Each method that adds a node returns the name of its
    output."""

    layout: ExportLayout
    dtype: Any
    max_n: int
    length: int | None
    nodes: list[Any] = field(default_factory=list)
    initializers: list[Any] = field(default_factory=list)
    known: dict[str, str] = field(default_factory=dict)
    """The names of the outputs that are made only once, by a key."""
    beside: str | None = None
    """The position encodings that only queries and keys read."""

    def op(self, kind: str, *inputs: str, name: str = "", **attributes: Any) -> str:
        """Add a node with one output, and return its name (`name`, or one made of the kind)."""
        from onnx import helper

        out = name or f"{kind.lower()}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, list(inputs), [out], **attributes))
        return out

    def constant(self, name: str, array: NDArray[Any]) -> str:
        """Add an initializer, with floats in the graph's dtype."""
        from onnx import numpy_helper

        if name not in self.known:
            kept = self.rounded(array) if array.dtype == np.float64 else array
            self.initializers.append(numpy_helper.from_array(np.asarray(kept, order="C"), name))
            self.known[name] = name
        return self.known[name]

    def rounded(self, array: NDArray[Any]) -> NDArray[Any]:
        """Return numbers in the graph's dtype. Raises OutOfRange if a number is beyond that dtype."""
        with np.errstate(over="ignore"):
            kept: NDArray[Any] = array.astype(self.dtype)
        lost = array[np.isinf(kept) & np.isfinite(array)]
        if lost.size:
            message = f"a number of the network is beyond {np.dtype(self.dtype).name} ({lost[0]:.3g})"
            raise OutOfRange(message, "Use --dtype float64, or scale the network.")
        return kept

    def number(self, value: float) -> str:
        """Return a scalar constant."""
        return self.constant(f"number_{value!r}", np.array(value, dtype=np.float64))

    def integer(self, value: int) -> str:
        """Return a scalar constant of int64."""
        return self.constant(f"integer_{value}", np.array(value, dtype=np.int64))

    def array(self, name: str) -> str | None:
        """Return one of the layout's arrays as a constant; None if there is no such array."""
        array = self.layout.arrays.get(name)
        return None if array is None else self.constant(name, array)

    def once(self, what: str, make: Callable[[], str]) -> str:
        """Return the output with the key `what`, and make it if it does not exist."""
        if what not in self.known:
            self.known[what] = make()
        return self.known[what]

    # ---- rows and lengths ----

    def rows(self) -> str:
        """Return a node with the row numbers 0, 1, ..., m - 1 for m tokens read, those around the word included."""

        def make() -> str:
            if self.length is not None:
                return self.constant("rows", np.arange(self.length + self.layout.fixed, dtype=np.int64))
            shape = self.op("Shape", TOKENS)
            m = self.op("Gather", shape, self.integer(1), axis=0)
            return self.op("Range", self.integer(0), self.known.setdefault("m", m), self.integer(1))

        return self.once("row numbers", make)

    def place(self) -> str:
        """Return the index of the length in tables, n - 1, if the length is dynamic. For an empty word it is the end
        of the tables, which makes the runtime fail: -1 would select their last row."""
        self.rows()

        def make() -> str:
            found = self.op("Sub", self.known["m"], self.integer(self.layout.fixed + 1))
            return self.op("Where", self.op("Less", found, self.integer(0)), self.integer(self.max_n), found)

        return self.once("n - 1", make)

    def lengths(self) -> Sequence[int]:
        """Return the lengths for which tables have entries."""
        return range(1, self.max_n + 1) if self.length is None else (self.length,)

    def table(self, name: str, by: frozenset[str], numbers: Callable[[int], list[list[RealNumber]]]) -> str:
        """Return a node (rows, columns) with the values that functions have at the word's length; it has one row if
        nothing depends on i. `numbers` returns the columns for a length, row by row."""
        longest = self.lengths()[-1]
        whole = "n" in by and self.length is None
        columns = len(numbers(longest))
        height = longest + self.layout.fixed if "i" in by else 1
        size = (len(self.lengths()) if whole else 1) * height * columns
        if size > LARGEST_TABLE:
            message = f"{name} would be a table of {size:,} numbers in the graph, and {LARGEST_TABLE:,} are the most"
            raise InputError(message, f"Use --max-n below {self.max_n}, or --length for words of one length.")
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
        """Add all nodes of the network."""
        description, layout = self.layout.description, self.layout
        x, beside = self.embedded(), list[str]()
        if POSITIONS in layout.arrays:
            beside.append(self.op("Gather", str(self.array(POSITIONS)), self.rows(), axis=0))
        for by in sorted(set(layout.encoded_by.values()), key=sorted):
            places = [place for place, _ in layout.encoded(self.lengths()[-1]) if layout.encoded_by[place] == by]
            beside.append(self.encoding(by, places))
        if "positions_at" not in description:
            x, beside = reduce(self.sum, beside, x), []
        x = self.norm(description.get("embedding_norm"), "embedding_norm.", self.plus(x, EMBEDDING_BIAS))
        x = self.product(x, PROJECTION, PROJECTION_BIAS) if PROJECTION in layout.arrays else x
        self.beside = reduce(self.sum, beside) if beside else None
        heads = 0
        for number, layer in enumerate(description["layers"]):
            x = self.layer(f"layers.{number}.", layer, x, heads)
            heads += len(layer["heads"])
        x = self.norm(description.get("final_norm"), "final_norm.", x)
        if description["at"] == "mean":
            x = self.op("ReduceMean", x, axes=[1], keepdims=1)
        if (step := description.get("transform")) is not None:
            x = self.product(x, f"{TRANSFORM}weight", f"{TRANSFORM}bias")
            if step["activation"] is not None:
                x = self.activated(step["activation"], x, f"{TRANSFORM}cap")
            x = self.norm(step["norm"], f"{TRANSFORM}norm.", x)
        bias, cap = self.array(UNEMBEDDING_BIAS), description.get("output_cap")
        product = ("MatMul", x, str(self.array(UNEMBEDDING)))
        last = {} if cap is not None else {"name": OUTPUTS}
        x = self.op(*product, **last) if bias is None else self.op("Add", self.op(*product), bias, **last)
        if cap is not None:
            self.capped(x, cap, OUTPUTS)

    def embedded(self) -> str:
        """Add the embedding of the tokens."""
        embedding = self.layout.arrays[EMBEDDING]
        if "propositions" not in self.layout.description:
            return self.op("Gather", self.constant(EMBEDDING, embedding), TOKENS, axis=0)
        sums = self.op("MatMul", TOKENS, self.constant("embedding_held", embedding[:-1]))
        return self.op("Add", sums, self.constant("embedding_always", embedding[-1]))

    def encoding(self, by: frozenset[str], places: list[int]) -> str:
        """Return the position encoding of the coordinates `places`, whose functions depend on the variables `by`: (m,
        d)."""

        def numbers(n: int) -> list[list[RealNumber]]:
            found = dict(self.layout.encoded(n))
            return [found[place] for place in places]

        name = f"encodings_{''.join(sorted(by)) or 'constant'}"
        selection = np.zeros((len(places), self.layout.dimension))
        selection[np.arange(len(places)), places] = 1.0
        return self.op("MatMul", self.table(name, by, numbers), self.constant(f"{name}_where", selection))

    def scale(self, head: int) -> str:
        """Return the factor of a head's scores: one number, or one for each row."""
        by, numbers = self.layout.scaled_by, self.layout.scaled
        last = self.lengths()[-1]
        if not by:
            return self.number(nearest_float(numbers(last)[head][0]))
        # one temperature for all heads
        return self.once("scale", lambda: self.table("scale", by, lambda n: [numbers(n)[head]]))

    def sum(self, x: str, y: str) -> str:
        """Return the sum of two outputs."""
        return self.op("Add", x, y)

    def plus(self, x: str, bias: str) -> str:
        """Add the bias of this name, if there is one."""
        added = self.array(bias)
        return x if added is None else self.op("Add", x, added)

    def product(self, x: str, weight: str, bias: str) -> str:
        """Return x W + b."""
        return self.plus(self.op("MatMul", x, str(self.array(weight))), bias)

    def layer(self, prefix: str, description: dict[str, Any], x: str, head: int) -> str:
        """Add a layer: attention, then hidden units."""
        after, first = description["norms"] == "after", x
        if description["heads"] or f"{prefix}b_o" in self.layout.arrays:
            norm = description.get("norm_1"), f"{prefix}norm_1."
            y = x if after else self.norm(*norm, x)
            added = None if description.get("out_1") is not None else x
            for place, one in enumerate(description["heads"]):
                found = self.head(f"{prefix}heads.{place}.", one, y, head + place)
                added = found if added is None else self.op("Add", added, found)
            x = str(self.array(f"{prefix}b_o")) if added is None else self.plus(added, f"{prefix}b_o")
            if description.get("out_1") is not None:
                x = self.op("Add", first, self.norm(description["out_1"], f"{prefix}out_1.", x))
            x = self.norm(*norm, x) if after else x
        if description["mlp"] is not None:
            norm = description.get("norm_2"), f"{prefix}norm_2."
            y = first if "parallel" in description else x
            found = self.mlp(f"{prefix}mlp.", description["mlp"], y if after else self.norm(*norm, y))
            if description.get("out_2") is not None:
                found = self.norm(description["out_2"], f"{prefix}out_2.", self.plus(found, f"{prefix}mlp.b_out"))
                x = self.op("Add", x, found)
            else:
                x = self.plus(self.op("Add", x, found), f"{prefix}mlp.b_out")
            x = self.norm(*norm, x) if after else x
        return x

    def mlp(self, prefix: str, activation: str, y: str) -> str:
        """Add the hidden units, and return what they add, without a bias."""
        hidden = self.product(y, f"{prefix}w_in", f"{prefix}b_in")
        gated = f"{prefix}w_gate" in self.layout.arrays
        gate = self.product(y, f"{prefix}w_gate", f"{prefix}b_gate") if gated else hidden
        found = self.activated(activation, gate, f"{prefix}cap", y if f"{prefix}w_cap" in self.layout.arrays else "")
        return self.op("MatMul", self.op("Mul", found, hidden) if gated else found, str(self.array(f"{prefix}w_out")))

    def head(self, prefix: str, description: dict[str, Any], y: str, number: int) -> str:
        """Add one head and return its output."""
        s = y if self.beside is None else self.op("Add", y, self.beside)
        q, k, v = (
            self.product(read, f"{prefix}w_{one}", f"{prefix}b_{one}")
            for one, read in zip("qkv", (s, s, y), strict=True)
        )
        q, k = (
            self.norm(description.get(f"norm_{one}"), f"{prefix}norm_{one}.", x)
            for one, x in zip("qk", (q, k), strict=True)
        )
        if (turns := description.get("turns")) is not None:
            q, k = (self.turned(x, turns, self.layout.arrays[f"{prefix}w_q"].shape[1]) for x in (q, k))
        scores = self.op("MatMul", q, self.op("Transpose", k, perm=[0, 2, 1]))
        logits = self.op("Mul", scores, self.scale(number))
        if (cap := description.get("cap")) is not None:
            logits = self.capped(logits, cap)
        if (slope := description.get("slope")) is not None:
            logits = self.op("Sub", logits, self.op("Mul", self.distance(True), self.number(float(slope))))
        seen = self.seen(description["mask"])
        if (window := description.get("window")) is not None:
            near = self.op("Less", self.distance(False), self.integer(window))
            seen = near if seen is None else self.op("And", seen, near)
        if seen is not None:
            logits = self.op("Where", seen, logits, self.number(-math.inf))
        powers = self.op("Exp", self.op("Sub", logits, self.op("ReduceMax", logits, axes=[-1], keepdims=1)))
        total = self.op("ReduceSum", powers, self.constant("last_axis", np.array([-1], dtype=np.int64)), keepdims=1)
        return self.op("MatMul", self.op("MatMul", self.op("Div", powers, total), v), str(self.array(f"{prefix}w_o")))

    def capped(self, x: str, cap: str, name: str = "") -> str:
        """Return C tanh(x / C) for a soft cap C, under a name."""
        number = self.number(float(Fraction(cap)))
        return self.op("Mul", self.op("Tanh", self.op("Div", x, number)), number, name=name)

    def distance(self, floating: bool) -> str:
        """Return |i - j| for queries i (rows) and keys j, as floats or as integers."""

        def make() -> str:
            key, query = (
                self.op("Unsqueeze", self.rows(), self.constant(f"axis_{axis}", np.array([axis], dtype=np.int64)))
                for axis in (0, 1)
            )
            return self.op("Abs", self.op("Sub", query, key))

        found = self.once("distances", make)
        kind = 11 if self.dtype is np.float64 else 1
        return self.once("floating distances", lambda: self.op("Cast", found, to=kind)) if floating else found

    def turned(self, x: str, turns: dict[str, Any], width: int) -> str:
        """Return queries or keys of a width with pairs of coordinates turned by their positions: x C + (x P) S, with
        cosines C and sines S by position and coordinate, times the amplitude, and a matrix P that exchanges the
        pairs with a sign."""
        rates = np.array(list(map(float, turns["frequencies"])))
        half, height = len(rates), self.lengths()[-1] + self.layout.fixed
        pairs = np.arange(2 * half).reshape((half, 2) if turns["interleaved"] else (2, half))
        a, b = (pairs[:, 0], pairs[:, 1]) if turns["interleaved"] else pairs
        angles = np.arange(height)[:, None] * rates[None, :]
        cosines, sines, exchange = np.ones((height, width)), np.zeros((height, width)), np.zeros((width, width))
        amplitude = float(turns.get("amplitude", 1))
        cosines[:, a] = cosines[:, b] = np.cos(angles) * amplitude
        sines[:, a], sines[:, b] = -np.sin(angles) * amplitude, np.sin(angles) * amplitude
        exchange[b, a] = exchange[a, b] = 1.0
        name = f"turns_{width}_{turns['interleaved']}_{'_'.join(turns['frequencies'])}_{amplitude}"
        c, s = (self.op("Gather", self.constant(f"{name}_{part}", array), self.rows(), axis=0)
                for part, array in (("cos", cosines), ("sin", sines)))  # fmt: skip
        other = self.op("MatMul", x, self.constant(f"{name}_exchange", exchange))
        return self.op("Add", self.op("Mul", x, c), self.op("Mul", other, s))

    def seen(self, mask: str) -> str | None:
        """Return which keys (columns) each query (row) sees; None if all."""
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

    def activated(self, activation: str, z: str, cap: str, y: str = "") -> str:
        """Return the activation f, as in model.py, where the cap depends on `y` unless that is empty."""
        if activation in ("clip", "relu"):
            most = self.product(y, cap.removesuffix("cap") + "w_cap", cap) if y else str(self.array(cap))
            return self.op("Min", self.op("Relu", z), most)
        if activation == "tanh":
            return self.op("Tanh", z)
        if activation in ("silu", "quick_gelu"):
            inner = z if activation == "silu" else self.op("Mul", z, self.number(1.702))
            return self.op("Mul", z, self.op("Sigmoid", inner))
        half = self.op("Mul", z, self.number(0.5))
        if activation == "gelu":
            inner = self.erf(self.op("Mul", z, self.number(math.sqrt(0.5))))
        else:
            cube = self.op("Mul", self.op("Mul", z, z), z)
            total = self.op("Add", z, self.op("Mul", cube, self.number(0.044715)))
            inner = self.op("Tanh", self.op("Mul", total, self.number(math.sqrt(2 / math.pi))))
        return self.op("Mul", half, self.op("Add", inner, self.number(1.0)))

    def erf(self, x: str) -> str:
        """Return the error function, written out for float64 (see the module)."""
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

    def norm(self, description: dict[str, Any] | None, prefix: str, x: str) -> str:
        """Apply a norm, if there is one."""
        if description is None:
            return x
        if description["kind"] == "layer":
            x = self.op("Sub", x, self.op("ReduceMean", x, axes=[-1], keepdims=1))
        square = self.op("ReduceMean", self.op("Mul", x, x), axes=[-1], keepdims=1)
        root = self.op("Sqrt", self.op("Add", square, self.number(float(Fraction(description["epsilon"])))))
        x = self.op("Div", x, root)
        weight = self.array(f"{prefix}weight")
        return self.plus(x if weight is None else self.op("Mul", x, weight), f"{prefix}bias")
