"""Find the format of a stored network, read the network, and describe what was read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

import numpy as np

from hardsim.lang.pretty import shortened
from hardsim.lazy_dataclass import dataclass
from hardsim.network.dense import Network, RootScale, symbols_of
from hardsim.network.reader import shown
from hardsim.reading import llama2c, nanogpt, torch, tracr, transformerlens
from hardsim.reading.huggingface import known
from hardsim.reading.huggingface.causal import CausalFamily, read_causal
from hardsim.reading.huggingface.encoder import EncoderFamily, read_encoder
from hardsim.reading.huggingface.families import CAUSAL, ENCODERS
from hardsim.reading.huggingface.unread import ELSEWHERE, REASONS
from hardsim.reading.readout import at_text, decide_text, input_text, reread
from hardsim.reading.tensors import NAMING, Stored, TakenSetting
from hardsim.reading.tokenizer import TOKENIZER, UNNAMED
from hardsim.reading.unsupported import quantised_network, unsupported_network


@dataclass(frozen=True)
class StoredFormat:
    """A format in which networks are stored."""

    title: str
    fits: Callable[[Stored], bool]
    """Return True if stored data is in this format, correct or not."""
    read: Callable[[Stored], Network]
    settings: tuple[str, ...] = ()
    """Settings other than sizes that determine what the network computes."""
    ignored: tuple[str, ...] = ()
    """Settings that do not affect evaluation; they are listed if they are not 0."""
    buffers: tuple[str, ...] = ()
    """Endings of the names of buffers that hold masks, which are verified."""


def _causal(family: CausalFamily) -> StoredFormat:
    """Return the format of a family of causal networks."""
    return StoredFormat(
        f"Hugging Face {family.title}",
        lambda stored: stored.config.get("model_type") == family.model_type,
        lambda stored: read_causal(family, stored),
        known.SAID,
        known.DROPOUTS,
        (".attn.bias", ".attention.bias", ".masked_bias", ".inv_freq"),
    )


def _encoder(family: EncoderFamily) -> StoredFormat:
    """Return the format of a family of encoders."""
    return StoredFormat(
        f"Hugging Face {family.title}",
        lambda stored: stored.config.get("model_type") == family.model_type,
        lambda stored: read_encoder(family, stored),
        known.SAID,
        known.DROPOUTS,
        ("embeddings.position_ids",),
    )


TRACR = "Tracr"
OTHERS = "PyTorch encoder", nanogpt.NANO, nanogpt.MINI, llama2c.TITLE, "TransformerLens", TRACR
"""The formats other than those of Hugging Face."""
FORMATS: tuple[StoredFormat, ...] = (
    StoredFormat(TRACR, tracr.is_tracr, tracr.read_tracr, tracr.SAID),
    StoredFormat("PyTorch encoder", torch.is_torch, torch.read_torch, torch.SAID),
    StoredFormat(
        nanogpt.NANO,
        lambda stored: nanogpt.family_of(stored) == nanogpt.NANO,
        nanogpt.read_nanogpt,
        nanogpt.SAID,
        nanogpt.DROPOUTS,
        (".attn.bias",),
    ),
    StoredFormat(
        nanogpt.MINI,
        lambda stored: nanogpt.family_of(stored) == nanogpt.MINI,
        nanogpt.read_nanogpt,
        nanogpt.SAID,
        nanogpt.DROPOUTS,
        (".attn.bias", ".attn.mask"),
    ),
    StoredFormat(llama2c.TITLE, llama2c.is_llama2c, llama2c.read_llama2c, llama2c.SAID, llama2c.DROPOUTS),
    *map(_causal, CAUSAL),
    *map(_encoder, ENCODERS),
    StoredFormat(
        "TransformerLens",
        transformerlens.is_transformerlens,
        transformerlens.read_transformerlens,
        transformerlens.SAID,
        buffers=(".attn.mask", ".attn.IGNORE", ".attn.rotary_sin", ".attn.rotary_cos"),
    ),
)


def network_of(stored: Stored) -> tuple[Network, StoredFormat]:
    """Return the network that is stored, and its format. Raises InputError if the format is not known, or a
    tensor or a setting is missing, wrong or not understood."""
    if (quantised := quantised_network(stored.name, stored.config)) is not None:
        raise quantised
    if (unsupported := unsupported_network(stored.name, stored.tensors)) is not None:
        raise unsupported
    for form in FORMATS:
        if form.fits(stored):
            network = _read_as_tokenized(form.read(stored), stored)
            if network.readout.pooled == "start" and not network.readout.before:
                stored.settings.remarks.append(UNMARKED)
            return network, form
    place = stored.settings.at("model_type")
    families, others = ", ".join(family.model_type for family in (*CAUSAL, *ENCODERS)), ", ".join(OTHERS)
    if stored.settings.has("model_type"):
        reason = REASONS.get(str(place.value))
        known = f"Read are: {families}, torch-encoder. {ELSEWHERE}"
        kind = "unknown" if reason is None else "not read"
        raise replace(place, advice="").refusal(f"the family {shown(place.value)} is {kind}", reason or known)
    hint = f'State "model_type", such as "gpt2" or "torch-encoder": docs/networks.md. Supported: {families}; {others}.'
    raise place.error("a format that is supported", hint)


def _read_as_tokenized(network: Network, stored: Stored) -> Network:
    """Return the network read as its tokenizer gives it texts: with the tokens that it puts around them, unless the
    configuration states others, and without its special tokens among the symbols."""
    tokenizer, readout = stored.tokenizer, network.readout
    if tokenizer is None:
        return network
    if not stored.settings.has("input") and not readout.before and not readout.after:
        readout = replace(readout, before=tokenizer.before, after=tokenizer.after)
    if not stored.settings.has("alphabet"):
        others = {*tokenizer.special, *map(str, (*readout.before, *readout.after)), *_unnamed(network)}
        named = {*symbols_of(readout, network.tokens)} - others
        symbols = tuple(token for token in network.tokens if str(token) in named)
        # A tokenizer may mark all of its tokens as special.
        readout = replace(readout, alphabet=symbols) if symbols else readout
    return reread(replace(network, readout=readout))


def _unnamed(network: Network) -> set[str]:
    """Return the names of ids that no token of a tokenizer has."""
    return {str(token) for number, token in enumerate(network.tokens) if str(token) == UNNAMED.format(number)}


UNMARKED = (
    "the answer is read at the first token, and the folder names no token before words: a specification states one, "
    "such as input: [CLS] * [SEP]"
)
READOUT = ("tokens", "alphabet", "input", "at", "decide")
"""The settings that decide how a word is read and answered."""
FORMAT_DEFAULT = "default of the format"
MOST_NAMES = 20
"""The greatest number of characters of token names that a setting shows."""


def readout_settings(network: Network, sources: Mapping[str, str]) -> tuple[TakenSetting, ...]:
    """Return the readout settings of a network, one by one, with the source of each that is stated."""
    readout = network.readout
    values = {
        "tokens": shortened(" ".join(map(str, network.tokens)), MOST_NAMES),
        "alphabet": shortened(" ".join(network.symbols), MOST_NAMES),
        "input": input_text(readout),
        "at": at_text(readout),
        "decide": decide_text(readout),
    }
    return tuple(TakenSetting(key, values[key], sources.get(key, FORMAT_DEFAULT)) for key in READOUT)


def settings_of(stored: Stored, form: StoredFormat) -> tuple[TakenSetting, ...]:
    """Return the settings that decide what a network computes, in the order of the format, with their sources."""
    taken = stored.settings.taken
    return tuple(taken[key] for key in form.settings if key in taken)


def readout_sources(stored: Stored, form: StoredFormat) -> dict[str, str]:
    """Return the source of each readout setting that a folder states."""
    own = dict.fromkeys((key for key in READOUT if stored.settings.has(key)), stored.config_name)
    if form.title == TRACR:
        own = dict.fromkeys(("tokens", "alphabet", "input", "decide"), stored.config_name)
    named = [name for name in stored.files if name in NAMING]
    found = {"tokens": " and ".join(named)} if stored.vocabulary is not None and named else {}
    if stored.tokenizer is not None:
        found |= {"input": TOKENIZER, "alphabet": TOKENIZER}
    return found | own


def described(stored: Stored, network: Network, form: StoredFormat) -> list[tuple[str, str]]:
    """Return labels and texts that describe what was read, in addition to the network's own description."""
    tied = np.array_equal(network.unembedding, network.embedding.T)
    biased = network.unembedding_bias is not None and bool(network.unembedding_bias.any())
    constant = any(layer.attends and not layer.heads for layer in network.layers)
    return [
        *_stored(stored, network, form),
        *[("no heads", "such a layer adds one vector to every position, then its MLP")] * constant,
        ("score scale", "; ".join(dict.fromkeys(str(head.scale) for head in network.heads)) or "no heads"),
        ("positions", _positions(network)),
        (
            "unembedding",
            ("the embedding" if tied else "its own")
            + (", not scaled" if tied and network.embedding_scale != RootScale() else "")
            + (", with a bias" if biased else ""),
        ),
    ]


def _stored(stored: Stored, network: Network, form: StoredFormat) -> list[tuple[str, str]]:
    """Return labels and texts that describe the files."""
    counts = Counter(array.dtype.name for array in stored.tensors.values())
    dtypes = ", ".join(f"{count} {name}" for name, count in sorted(counts.items()))
    built = stored.config.get("architectures")
    named = f" ({', '.join(map(str, built))})" if isinstance(built, list) and built else ""
    masks = sum(name.endswith(form.buffers) for name in stored.tensors) if form.buffers else 0
    rows = [
        ("format", form.title + named),
        ("files", ", ".join(stored.files)),
        ("tensors", f"{len(stored.tensors)}, all used ({dtypes})"),
        ("masks", f"{masks} buffers, verified" if masks else ""),
        ("no part in evaluation", _settings(stored, form.ignored)),
        ("vocabulary", _vocabulary(stored, network)),
    ]
    return [(label, text) for label, text in rows if text]


def names_tokens(stored: Stored, network: Network) -> bool:
    """Return True if the tokens have names, in a vocabulary or in the configuration, rather than their ids."""
    ids = tuple(map(str, range(len(network.tokens))))
    return stored.vocabulary is not None or "tokens" in stored.config or network.tokens != ids


def _vocabulary(stored: Stored, network: Network) -> str:
    """Return the source of the tokens' names."""
    if stored.vocabulary is not None:
        return f"{len(stored.vocabulary)} names, stored"
    named = names_tokens(stored, network)
    return f"{len(network.tokens)} names, in {stored.config_name}" if named else "token ids"


def _settings(stored: Stored, keys: Iterable[str]) -> str:
    """Return the text of those settings that are present and neither null nor 0; false is listed."""
    known = ((key, stored.config.get(key)) for key in keys)
    return ", ".join(
        f"{key} {shown(value)}" for key, value in known if (value is not None and value != 0) or value is False
    )


def _positions(network: Network) -> str:
    if isinstance(network.positions, np.ndarray):
        return f"a table of {len(network.positions)}"
    found = [f"coordinate {place}: {function}" for place, function in network.positions]
    turned = any(head.rotary is not None for head in network.heads)
    biased = any(head.distance is not None for head in network.heads)
    found += ["rotary, in the heads"] * turned + ["ALiBi, in the heads"] * biased
    return ", ".join(found) or "none"
