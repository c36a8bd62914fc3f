"""A transformer exported by hardsim, for PyTorch. It needs only torch and the two files beside this one.

    from model import load
    model = load()                            # in float64; load(dtype=torch.float32) rounds every number once more
    outputs = model(model.encode("b a a"))    # (words, tokens read, outputs)
    model.judged("b a a")                     # the outputs that give the answer for one word (1: accepted, 0: rejected)

With m tokens read, n of them symbols of the word, let i be the positions, and x in R^(m x d):
    x = embedding[tokens] + positions
    x = x + sum over heads of softmax(scale (x w_q + b_q)(x w_k + b_k)^T) (x w_v + b_v) w_o + b_o
    x = x + f(x w_in + b_in) w_out + b_out
    outputs = x unembedding + unembedding_bias
with norms before or after the sums, and in some networks parts that config.json names: a projection of embeddings of
another width; norms of queries and keys, which are then turned by their positions; a soft cap C tanh(score / C), and
less slope |i - j| for each score; windows; sparsemax, geometric attention or rounded exponentials in place of softmax;
norms of what is added; gated units, (f(x w_gate + b_gate) * (x w_in + b_in)) w_out; rounding of the sums to multiples
of 2^-p. Position encodings and 1/temperature are functions of i and n, computed exactly (log, exp, sqrt in float64) and
rounded to float64, as weights were, then to the dtype.
"""

import json
import math
import re
from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import lru_cache
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

FUNCTIONS = {
    "Fraction": Fraction, "log": math.log, "exp": math.exp, "sqrt": math.sqrt,
    "PRIME": lambda x: x > 1 and all(x % k for k in range(2, math.isqrt(int(x)) + 1)),
    "SQUARE": lambda x: x >= 0 and math.isqrt(int(x)) ** 2 == x,
    "POW2": lambda x: x > 0 and int(x) & (int(x) - 1) == 0,
}  # fmt: skip


class Parameters(nn.Module):
    """Parameters from the named tensors that exist; the others are None, and left out of the sums."""

    def __init__(self, tensors: Mapping[str, Tensor], prefix: str, names: str) -> None:
        super().__init__()
        for name in names.split():
            self.register_parameter(name, nn.Parameter(tensors[prefix + name]) if prefix + name in tensors else None)


class SoftNorm(Parameters):
    """(x - mean) / sqrt(variance + epsilon), or "rms": x / sqrt(mean of x^2 + epsilon); times weight, plus bias."""

    def __init__(self, config: Mapping[str, Any], tensors: Mapping[str, Tensor], prefix: str) -> None:
        super().__init__(tensors, prefix, "weight bias")
        self.centred, self.epsilon = config["kind"] == "layer", float(Fraction(config["epsilon"]))

    def forward(self, x: Tensor) -> Tensor:
        """Normalize each row."""
        x = x - x.mean(-1, keepdim=True) if self.centred else x
        x = x / torch.sqrt((x * x).mean(-1, keepdim=True) + self.epsilon)
        return plus(x if self.weight is None else x * self.weight, self.bias)


class SoftHead(Parameters):
    """Attention to the keys that a query sees. The largest logit of a row is subtracted before exp."""

    def __init__(self, config: Mapping[str, Any], tensors: Mapping[str, Tensor], prefix: str) -> None:
        super().__init__(tensors, prefix, "w_q w_k w_v w_o b_q b_k b_v")
        self.mask, self.scale, self.config = config["mask"], config["scale"], config
        self.norm_q, self.norm_k = (
            norm_of(config.get(one), tensors, f"{prefix}{one}.") for one in ("norm_q", "norm_k")
        )

    def forward(self, y: Tensor, s: Tensor, scale: Tensor, seen: Tensor) -> Tensor:
        """Return the vectors that the head adds to the residual stream. Queries and keys read s."""
        q, k = self.norm_q(plus(s @ self.w_q, self.b_q)), self.norm_k(plus(s @ self.w_k, self.b_k))
        if turns := self.config.get("turns"):
            q, k = turned(q, **turns), turned(k, **turns)
        v, logits = plus(y @ self.w_v, self.b_v), capped((q @ k.mT) * scale, self.config.get("cap"))
        if "slope" in self.config:
            places = torch.arange(y.shape[1], dtype=torch.float64)
            logits = logits - (float(self.config["slope"]) * (places[:, None] - places[None, :]).abs()).to(y)
        logits = logits.masked_fill(~seen, -torch.inf)
        if self.config.get("weighting") == "geometric":
            return (geometric(logits, self.mask.endswith("future")) @ v) @ self.w_o
        logits = logits - logits.amax(-1, keepdim=True)
        if self.config.get("weighting") == "sparsemax":
            return (sparsemax(logits) @ v) @ self.w_o
        weights = rounded(torch.exp(logits), str(self.config.get("weighting", "")).partition(":")[2])
        return ((weights / weights.sum(-1, keepdim=True)) @ v) @ self.w_o


class SoftLayer(Parameters):
    """Attention, then hidden units. A step without weights is left out."""

    def __init__(self, config: Mapping[str, Any], tensors: Mapping[str, Tensor], prefix: str) -> None:
        super().__init__(tensors, prefix, "b_o")
        heads = [SoftHead(head, tensors, f"{prefix}heads.{k}.") for k, head in enumerate(config["heads"])]
        self.heads = nn.ModuleList(heads)
        for name in ("norm_1", "norm_2", "out_1", "out_2"):
            setattr(self, name, norm_of(config.get(name), tensors, f"{prefix}{name}."))
        names = "w_in b_in w_cap cap w_out b_out w_gate b_gate"
        self.mlp: Any = Parameters(tensors, prefix + "mlp.", names) if config["mlp"] else None
        self.config, self.after = config, config["norms"] == "after"

    def forward(self, x: Tensor, beside: Any, scales: Sequence[Tensor], seen: Sequence[Tensor]) -> Tensor:
        """Return the residual stream after the layer. Queries and keys read `beside` besides (None: nothing)."""
        first = x
        if len(self.heads) or self.b_o is not None:
            y = x if self.after else self.norm_1(x)
            x = x if "out_1" not in self.config else torch.zeros_like(x)
            for head, scale, visible in zip(self.heads, scales, seen, strict=True):
                x = x + head(y, plus(y, beside), scale, visible)
            x = plus(x, self.b_o)
            x = x if "out_1" not in self.config else first + self.out_1(x)
            x = self.rounded(self.norm_1(x) if self.after else x)
        if (mlp := self.mlp) is not None:
            y = first if "parallel" in self.config else x
            y = y if self.after else self.norm_2(y)
            z = plus(y @ mlp.w_in, mlp.b_in)
            gate = z if mlp.w_gate is None else plus(y @ mlp.w_gate, mlp.b_gate)
            cap = mlp.cap if mlp.w_cap is None else y @ mlp.w_cap + mlp.cap
            found = activated(self.config["mlp"], gate, cap) * (1.0 if mlp.w_gate is None else z) @ mlp.w_out
            x = plus(x + found, mlp.b_out) if "out_2" not in self.config else x + self.out_2(plus(found, mlp.b_out))
            x = self.rounded(self.norm_2(x) if self.after else x)
        return x

    def rounded(self, x: Tensor) -> Tensor:
        """Round down, or to the nearest (even) multiple of 2^-p, if the network does so."""
        if "rounding" not in self.config:
            return x
        mode, places = self.config["rounding"]
        return (torch.floor if mode == "floor" else torch.round)(x * 2.0**places) / 2.0**places


class SoftTransformer(Parameters):
    """The whole network, as `network` in config.json describes it."""

    def __init__(self, config: Mapping[str, Any], tensors: Mapping[str, Tensor]) -> None:
        names = "embedding positions embedding_bias projection projection_bias unembedding unembedding_bias"
        super().__init__(tensors, "", names)
        self.config, self.before, self.after = config, config["before"], config["after"]
        self.sets, self.names = "propositions" in config, config.get("tokens", config.get("propositions"))
        layers = [SoftLayer(one, tensors, f"layers.{k}.") for k, one in enumerate(config["layers"])]
        self.encoder = encoder_of(layers, self.embedding.shape[1], tensors) if "encoder" in config else None
        self.layers = nn.ModuleList(layers if self.encoder is None else [])
        self.final_norm = norm_of(config.get("final_norm"), tensors, "final_norm.")
        self.embedding_norm = norm_of(config.get("embedding_norm"), tensors, "embedding_norm.")
        self.step = Parameters(tensors, "transform.", "weight bias cap")
        self.step_norm = norm_of(config.get("transform", {}).get("norm"), tensors, "transform.norm.")

    def encode(self, *words: str | Sequence[str]) -> Tensor:
        """Return words of one length (lists of symbols, or texts with blanks), with the tokens around them: (words,
        tokens) ids, or over sets of propositions (words, tokens, propositions) zeros and ones."""
        listed = [re.findall(r"{.*?}|[^\s{}]+" if self.sets else r"\S+", w) if isinstance(w, str) else w for w in words]
        if not self.sets:
            rows = [[*self.before, *map(self.names.index, word), *self.after] for word in listed]
            return torch.tensor(rows, device=self.embedding.device)
        sets = [[*self.before, *(re.findall(r"[^{},\s]+", symbol) for symbol in word), *self.after] for word in listed]
        held = [[{self.names.index(name) for name in symbol} for symbol in row] for row in sets]
        bits = [[[float(k in symbol) for k in range(len(self.names))] for symbol in row] for row in held]
        return torch.tensor(bits).to(self.embedding)

    def forward(self, tokens: Tensor) -> Tensor:
        """Return the outputs, (words, tokens, outputs), of a result of `encode`; of its mean (words, 1, outputs)."""
        m, first = tokens.shape[1], self.config["first"]
        i, n = range(first, first + m), m - len(self.before) - len(self.after)
        if n > self.config.get("longest", n):
            raise IndexError(f"words have at most {self.config['longest']} symbols")
        x = tokens @ self.embedding[:-1] + self.embedding[-1] if self.sets else self.embedding[tokens]
        token, x = x, torch.zeros_like(x) if "positions_at" in self.config else x
        x = x if self.positions is None else x + self.positions[torch.arange(m)]  # an error beyond the last row
        for place, functions in self.config["positions"]:
            x[:, :, place] = x[:, :, place] + self.numbers([sum(value(one, at, n) for one in functions) for at in i])
        x, beside = (token, x) if "positions_at" in self.config else (x, None)
        x = self.embedding_norm(plus(x, self.embedding_bias))
        x = x if self.projection is None else plus(x @ self.projection, self.projection_bias)
        for layer in self.layers:
            scales = [self.numbers([value(head.scale, at, n) for at in i])[:, None] for head in layer.heads]
            x = layer(x, beside, scales, [self.seen(head.mask, m, head.config.get("window")) for head in layer.heads])
        if self.encoder is not None:
            x = self.encoder(x.transpose(0, 1), mask=~self.seen(self.config["encoder"], m)).transpose(0, 1)
        x = self.final_norm(x)
        x = x.mean(1, keepdim=True) if self.config["at"] == "mean" else x
        if "transform" in self.config:
            x, kind = plus(x @ self.step.weight, self.step.bias), self.config["transform"]["activation"]
            x = self.step_norm(x if kind is None else activated(kind, x, self.step.cap))
        return capped(plus(x @ self.unembedding, self.unembedding_bias), self.config.get("output_cap"))

    def numbers(self, exact: Sequence[Any]) -> Tensor:
        """Return numbers rounded to float64, and then to the dtype of the model."""
        return torch.tensor([float(number) for number in exact], dtype=torch.float64).to(self.embedding)

    def seen(self, mask: str, m: int, window: int | None = None) -> Tensor:
        """Return which keys (columns) each query (row) sees; all see the beginning of sequence, if there is one."""
        key, query = torch.arange(m)[None, :], torch.arange(m)[:, None]
        seen = {"future": key <= query, "past": key >= query, "strict-future": key < query, "strict-past": key > query}
        found = seen.get(mask, (key >= 0).expand(m, m)) | ((key == 0) & self.config["bos"])
        return (found & ((query - key).abs() < (window or m))).to(self.embedding.device)

    def judged(self, word: str | Sequence[str]) -> Tensor:
        """Return the outputs that give a word's answer, (positions, outputs); config.json states the rule, "decide"."""
        start, tokens = len(self.before), self.encode(word)
        places = {"first": [start], "last": [-1], "start": [0], "mean": [0]}
        return self(tokens)[0, places.get(self.config["at"], list(range(start, tokens.shape[1] - len(self.after))))]


def encoder_of(layers: Sequence[SoftLayer], d: int, tensors: Mapping[str, Tensor]) -> Any:
    """Return layers as an encoder: means (queries and keys are 0), hidden units, and a norm after both."""
    made, dtype = [], tensors["embedding"].dtype
    for one in layers:
        width = 1 if one.mlp is None else one.mlp.w_in.shape[1]
        layer: Any = nn.TransformerEncoderLayer(d, 1, width, 0.0, layer_norm_eps=one.norm_2.epsilon, dtype=dtype)
        with torch.no_grad():
            for parameter in layer.parameters():
                parameter.zero_()
            for head in one.heads:
                layer.self_attn.in_proj_weight[2 * d :] = (head.w_v @ head.w_o).T
            layer.self_attn.out_proj.weight.copy_(torch.eye(d, dtype=dtype))
            if one.mlp is not None:
                layer.linear1.weight.copy_(one.mlp.w_in.T)
                layer.linear2.weight.copy_(one.mlp.w_out.T)
            layer.norm2.weight.fill_(1.0)
        layer.norm1 = nn.Identity()
        made.append(layer)
    encoder = nn.TransformerEncoder(made[0], len(made), enable_nested_tensor=False)
    encoder.layers = nn.ModuleList(made)
    return encoder.eval()


def activated(kind: str, z: Tensor, cap: Tensor | None) -> Tensor:
    """f: "clip" and "relu" are min(max(z, 0), cap), where cap is 1, a Boolean or infinity."""
    if kind in ("gelu", "gelu_new"):
        return nn.functional.gelu(z, approximate="none" if kind == "gelu" else "tanh")
    if kind in ("quick_gelu", "tanh"):
        return torch.tanh(z) if kind == "tanh" else z * torch.sigmoid(1.702 * z)
    return nn.functional.silu(z) if cap is None else torch.minimum(nn.functional.relu(z), cap)


def capped(x: Tensor, cap: str | None) -> Tensor:
    """Return C tanh(x / C) with a soft cap C, and x without one."""
    return x if cap is None else torch.tanh(x / float(Fraction(cap))) * float(Fraction(cap))


def sparsemax(z: Tensor) -> Tensor:
    """Return max(z - t, 0) in each row, with the t for which a row adds up to 1. A masked z is -inf."""
    ranked = z.sort(-1, descending=True).values
    sums, places = ranked.cumsum(-1), torch.arange(1, z.shape[-1] + 1).to(z)
    k = (1 + places * ranked > sums).sum(-1, keepdim=True)
    return torch.clamp(z - (sums.gather(-1, k - 1) - 1) / k, min=0)


def rounded(weights: Tensor, form: str) -> Tensor:
    """Return exponentials rounded to a format (fixed:P: multiples of 2^-P); unchanged if its name is empty."""
    if form.startswith("fixed:"):
        return torch.round(weights * 2 ** int(form[6:])) / 2 ** int(form[6:])
    formats = {"fp16": torch.float16, "bf16": torch.bfloat16, "fp32": torch.float32, "fp64": torch.float64}
    return weights.to(formats[form]).to(weights) if form else weights


def geometric(z: Tensor, back: bool) -> Tensor:
    """Return P_j = sigmoid(z_j) times the product of 1 - P_k over nearer keys k: with `back` those after j."""
    z = z.flip(-1) if back else z
    found = torch.sigmoid(z) * nn.functional.pad(torch.sigmoid(-z).cumprod(-1)[..., :-1], (1, 0), value=1.0)
    return found.flip(-1) if back else found


def turned(x: Tensor, frequencies: Sequence[str], interleaved: bool, amplitude: str = "1") -> Tensor:
    """Turn pairs of coordinates, neighbours or halves, at p by p times their frequencies, times the amplitude."""
    half = len(frequencies)
    one, two = (slice(0, 2 * half, 2), slice(1, 2 * half, 2)) if interleaved else (slice(half), slice(half, 2 * half))
    places = torch.arange(x.shape[1], dtype=torch.float64)[:, None]
    angles = places * torch.tensor(list(map(float, frequencies)), dtype=torch.float64)
    c, s = ((function(angles) * float(amplitude)).to(x) for function in (torch.cos, torch.sin))
    a, b, found = x[..., one], x[..., two], x.clone()
    found[..., one], found[..., two] = a * c - b * s, b * c + a * s
    return found


def plus(x: Tensor, bias: Tensor | None) -> Tensor:
    """Return x plus a bias, if there is one."""
    return x if bias is None else x + bias


def norm_of(config: Mapping[str, Any] | None, tensors: Mapping[str, Tensor], prefix: str) -> nn.Module:
    """Return a norm, or the identity if there is none."""
    return SoftNorm(config, tensors, prefix) if config else nn.Identity()


def value(function: Any, i: int, n: int) -> Any:
    """Return the value of a function at i and n: an array over lengths, a table of positions, or a text."""
    if isinstance(function, list):
        return Fraction(function[n - 1 if n > 0 else len(function)])  # an error if there are no symbols
    if isinstance(function, dict):
        place, values = i - function["start"], function["values"]
        return Fraction(values[place] if 0 <= place < len(values) else function["otherwise"])
    return eval(compiled(function), {"__builtins__": {}}, {**FUNCTIONS, "i": Fraction(i), "n": Fraction(n)})


@lru_cache
def compiled(text: str) -> Any:
    """Compile an expression with Fractions for integers, in which [condition] is 1 or 0."""
    if re.search(r"[^\w\s()\[\]*/%+<>=!-]|__", text):
        raise ValueError(f"config.json: {text!r} is not an expression in i and n")
    exact = re.sub(r"\b\d+\b", r"Fraction('\g<0>')", text)
    return compile(exact.replace("[", "Fraction(").replace("]", ")"), "config.json", "eval")


def load(folder: str | Path = Path(__file__).parent, dtype: torch.dtype = torch.float64) -> SoftTransformer:
    """Return the network in a folder, ready to run."""
    data = (Path(folder) / "model.safetensors").read_bytes()
    size, tensors = int.from_bytes(data[:8], "little"), {}
    for name, header in json.loads(data[8 : 8 + size]).items():
        start, stop = (8 + size + offset for offset in header["data_offsets"])
        numbers = torch.frombuffer(bytearray(data[start:stop]), dtype=torch.float64)
        tensors[name] = numbers.reshape(header["shape"]).to(dtype)
    return SoftTransformer(json.loads((Path(folder) / "config.json").read_text("utf-8"))["network"], tensors)
