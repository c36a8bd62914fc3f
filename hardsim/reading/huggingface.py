"""Read Hugging Face GPT-2, as `save_pretrained` writes it.

Source: transformers, `models/gpt2/modeling_gpt2.py` (Radford et al. 2019, "Language models are unsupervised multitask
learners"): pre-norm blocks, `Conv1D` layers (y = x W + b, W of shape [in, out]), q, k and v side by side in `c_attn`,
causal masks, scores divided by sqrt(d / heads), a final norm, and an unembedding that is the embedding or separate.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, TypeAlias

import numpy as np

from hardsim.network import dense
from hardsim.network.numbers import Mask
from hardsim.reading.tensors import Settings, Stored, Tensors

MODEL_TYPE = "gpt2"
LIBRARY = "GPT2Config"
SAID = (
    "n_head", "activation_function", "layer_norm_epsilon", "scale_attn_weights", "scale_attn_by_inverse_layer_idx",
    "architectures", "tie_word_embeddings", "problem_type", "pad_token_id",
)  # fmt: skip
"""Settings other than sizes that determine what the network computes."""
BODY = "transformer."
"""The prefix of the body's tensor names, if a head is stored beside the body."""
BASE, LANGUAGE_MODEL = "GPT2Model", "GPT2LMHeadModel"
TELLING = {
    LANGUAGE_MODEL: "lm_head.weight",
    "GPT2ForSequenceClassification": "score.weight",
    "GPT2ForTokenClassification": "classifier.weight",
}
"""The heads that are supported, by architecture, and a tensor that identifies each."""
OTHERS = {
    BASE: "a base model without a head: it ends in hidden states, and has no outputs",
    "GPT2PreTrainedModel": "a class that does not name the head of the network",
    "GPT2DoubleHeadsModel": "a model with two heads, which is not supported",
    "GPT2ForQuestionAnswering": "a model that marks answers in a text, which is not supported",
}
"""Classes of transformers that are not supported, and why."""
HEADLESS = (
    "Save the model with its head, such as GPT2LMHeadModel. If its outputs are those of a language model whose "
    'unembedding is its embedding, state it: "architectures": ["GPT2LMHeadModel"] in config.json.'
)
ACTIVATIONS = {
    "gelu": dense.Activation.GELU,
    "gelu_python": dense.Activation.GELU,
    "gelu_new": dense.Activation.GELU_NEW,
    "gelu_pytorch_tanh": dense.Activation.GELU_NEW,
    "gelu_python_tanh": dense.Activation.GELU_NEW,
    "gelu_accurate": dense.Activation.GELU_NEW,
    "relu": dense.Activation.RELU,
    "silu": dense.Activation.SILU,
    "swish": dense.Activation.SILU,
}
"""The activations of transformers that equal these functions (`gelu_fast` has a rounded constant, and `quick_gelu` is
a different function)."""
DROPOUTS = "attn_pdrop", "embd_pdrop", "resid_pdrop", "classifier_dropout", "hidden_dropout"
"""Dropouts: they act in training only, and do not affect evaluation."""
TRAINING = (
    *DROPOUTS, "summary_type", "summary_use_proj", "summary_activation", "summary_proj_to_labels",
    "summary_first_dropout", "initializer_range", "gradient_checkpointing", "finetuning_task",
)  # fmt: skip
"""Settings of training, and of a head whose tensors would be refused."""
RUNNING = (
    "architectures", "transformers_version", "dtype", "torch_dtype", "use_bfloat16", "torchscript", "use_cache",
    "bos_token_id", "eos_token_id", "sep_token_id", "decoder_start_token_id", "tokenizer_class", "task_specific_params",
    "output_attentions", "output_hidden_states", "output_past", "return_dict", "return_dict_in_generate",
    "output_scores", "chunk_size_feed_forward", "reorder_and_upcast_attn", "_name_or_path", "_commit_hash",
    "_attn_implementation", "attn_implementation", "_attn_implementation_autoset", "_attn_implementation_internal",
    "is_decoder", "tf_legacy_loss", "loss_type", "unk_token_id", "mask_token_id", "prefix", "label2id",
    "predict_special_tokens",
)  # fmt: skip
"""Settings of running and naming the network; in real numbers they change nothing."""
READ_LATER = "pad_token_id", "id2label", "num_labels", "_num_labels", "problem_type", "tie_word_embeddings"
"""Settings of the head."""
GENERATING = (
    "max_length", "min_length", "do_sample", "early_stopping", "num_beams", "num_beam_groups", "diversity_penalty",
    "temperature", "top_k", "top_p", "typical_p", "repetition_penalty", "length_penalty", "no_repeat_ngram_size",
    "encoder_no_repeat_ngram_size", "bad_words_ids", "num_return_sequences", "forced_bos_token_id",
    "forced_eos_token_id", "remove_invalid_values", "exponential_decay_length_penalty", "suppress_tokens",
    "begin_suppress_tokens",
)  # fmt: skip
"""Settings of drawing text from the outputs."""


@dataclass(frozen=True)
class _Sizes:
    """The sizes: V, the rows of the position table, d, the hidden units of an MLP, and the numbers of layers and
    heads."""

    vocabulary: int
    rows: int
    width: int
    hidden: int
    layers: int
    heads: int

    @property
    def key(self) -> int:
        """The width of the keys and values of one head."""
        return self.width // self.heads


def read_gpt2(stored: Stored) -> dense.Network:
    """Read the network in a folder of `GPT2LMHeadModel`, `GPT2ForSequenceClassification` or
    `GPT2ForTokenClassification`. A `GPT2Model` has no outputs, and is refused.

    A language model answers with the largest of its outputs at each position, a classifier of sequences with that at
    the last position. With one label, or with several that do not exclude each other, the answer says which outputs are
    above 0. Raises InputError if a tensor or a setting is missing, wrong or not understood."""
    settings, weights = stored.settings, stored.weights
    settings.library = LIBRARY
    settings.choice("model_type", {MODEL_TYPE: MODEL_TYPE})
    sizes = _sizes(settings)
    start = BODY if any(name.startswith(BODY) for name in weights.names) else ""
    head = _architecture(settings, weights, start)
    epsilon = settings.epsilon("layer_norm_epsilon")

    def norm(name: str) -> dense.Norm:
        weight, bias = (weights.take(f"{start}{name}.{part}", sizes.width) for part in ("weight", "bias"))
        return dense.Norm("layer", epsilon, weight, bias)

    activation = settings.choice("activation_function", ACTIVATIONS, "gelu_new")
    scaled = settings.truth("scale_attn_weights", True)
    by_layer = settings.truth("scale_attn_by_inverse_layer_idx", False)
    _refuse_others(settings)
    layers = []
    for layer in range(sizes.layers):
        name = f"{start}h.{layer}."
        factor = Fraction(1, layer + 1) if by_layer else Fraction(1)
        scale = dense.RootScale(factor, sizes.key if scaled else 1)
        heads, b_o = _attention(weights, f"{name}attn.", layer, sizes, scale)
        mlp = _mlp(weights, f"{name}mlp.", activation, sizes)
        layers.append(dense.NetworkLayer(heads, mlp, b_o, norm(f"h.{layer}.ln_1"), norm(f"h.{layer}.ln_2")))
    embedding = weights.take(f"{start}wte.weight", sizes.vocabulary, sizes.width, why="vocab_size, n_embd")
    positions = weights.take(f"{start}wpe.weight", sizes.rows, sizes.width, why="n_positions, n_embd")
    tokens = stored.tokens(sizes.vocabulary)
    unembedding, bias, outputs, readout = _HEADS[head](settings, weights, embedding, tokens)
    final = norm("ln_f")
    weights.done()
    return dense.Network(tokens, embedding, positions, tuple(layers), final, unembedding.T, bias, outputs, readout)


def _sizes(settings: Settings) -> _Sizes:
    """Return the sizes, each from its own setting or from the name that all models share."""

    def size(name: str, other: str, least: int = 1) -> int:
        known = name if settings.has(name) or not settings.has(other) else other
        found = settings.integer(known, least=least)
        settings.neutral(other, found)
        return found

    width, heads = size("n_embd", "hidden_size"), size("n_head", "num_attention_heads")
    if width % heads:
        raise settings.at("n_head").error(f"a divisor of n_embd, {width}")
    rows = size("n_positions", "max_position_embeddings")
    settings.neutral("n_ctx", rows)
    vocabulary, hidden = settings.integer("vocab_size"), settings.integer("n_inner", 4 * width)
    return _Sizes(vocabulary, rows, width, hidden, size("n_layer", "num_hidden_layers", 0), heads)


def _attention(
    weights: Tensors, name: str, layer: int, sizes: _Sizes, scale: dense.RootScale
) -> tuple[tuple[dense.NetworkHead, ...], dense.Dense]:
    """Return the heads of a layer, and the bias that is added once for all of them."""
    width, key = sizes.width, sizes.key
    joint = weights.take(f"{name}c_attn.weight", width, 3 * width, why="n_embd, 3 n_embd")
    joint_bias = weights.take(f"{name}c_attn.bias", 3 * width)
    w_o = weights.take(f"{name}c_proj.weight", width, width)
    weights.check_mask(f"{name}bias", sizes.rows)
    weights.check_filler(f"{name}masked_bias")
    heads = []
    for head in range(sizes.heads):
        parts = [slice(third * width + head * key, third * width + (head + 1) * key) for third in range(3)]
        w_q, w_k, w_v = (joint[:, part] for part in parts)
        b_q, b_k, b_v = (joint_bias[part] for part in parts)
        out = w_o[head * key : (head + 1) * key]
        heads.append(dense.NetworkHead(f"L{layer}H{head}", Mask.FUTURE, scale, w_q, w_k, w_v, out, b_q, b_k, b_v))
    return tuple(heads), weights.take(f"{name}c_proj.bias", width)


def _mlp(weights: Tensors, name: str, activation: dense.Activation, sizes: _Sizes) -> dense.Mlp:
    width, hidden, why = sizes.width, sizes.hidden, "n_inner, or 4 n_embd"
    return dense.Mlp(
        activation,
        weights.take(f"{name}c_fc.weight", width, hidden, why=why),
        weights.take(f"{name}c_proj.weight", hidden, width, why=why),
        weights.take(f"{name}c_fc.bias", hidden),
        weights.take(f"{name}c_proj.bias", width),
    )


def _architecture(settings: Settings, weights: Tensors, start: str) -> str:
    """Return which of HEADS the network has: as `architectures` states, else as its tensors show. Raises InputError if
    it has none (`GPT2Model`), or one that is not supported."""
    key, stated = "architectures", settings.value("architectures")
    names = stated if isinstance(stated, list) else [] if stated is None else [stated]
    # The TensorFlow and Flax classes store the same networks.
    known = [str(name).removeprefix("TF").removeprefix("Flax") for name in names]
    if len(set(known)) > 1:
        raise settings.at(key).error("one architecture")
    name = known[0] if known else ""
    if name in _HEADS:
        settings.take(key, name)
        return name
    if name in OTHERS:
        hint = f"{name} is {OTHERS[name]}. {HEADLESS if name == BASE else ''}".strip()
        raise settings.at(key).error(f"one of {', '.join(_HEADS)}", hint)
    if like := next((head for head in _HEADS if name.endswith(head.removeprefix("GPT2"))), None):
        settings.take(key, like, f"{settings.source}: {name}")  # a user's own class, named after its head
        return like
    found = next((head for head, tensor in TELLING.items() if weights.has(tensor)), None)
    if found is None and start:
        found = LANGUAGE_MODEL  # a head tied to the embedding has no tensor, but then the body's tensors have a prefix
    if found is None:
        message = "no tensor of a head, and no architectures: this seems to be GPT2Model, " + OTHERS[BASE]
        raise settings.at(key).refusal(message, HEADLESS)
    settings.take(key, found, "the weights: the names of tensors")
    if name:
        settings.remarks.append(f"{key} is {name}, which is not a class of transformers: read as {found}")
    return found


Tokens: TypeAlias = tuple[dense.Token, ...]
Head: TypeAlias = tuple[dense.Dense, dense.Dense | None, Tokens, dense.Readout]
"""The unembedding [outputs, d], its bias, the names of the outputs, and the readout."""


def _language_model(settings: Settings, weights: Tensors, embedding: dense.Dense, tokens: Tokens) -> Head:
    tied, own = settings.truth("tie_word_embeddings", True), weights.maybe("lm_head.weight", *embedding.shape)
    if own is None and not tied:
        hint = "Save the whole language model, or state that its unembedding is its embedding."
        raise weights.error("lm_head.weight is missing, and tie_word_embeddings is false", hint)
    if own is not None and tied and not np.array_equal(own, embedding):
        hint = "Set tie_word_embeddings to false if the network has a separate unembedding."
        raise weights.error("lm_head.weight differs from wte.weight, but tie_word_embeddings is true", hint)
    return embedding if own is None else own, None, tokens, dense.Readout(at="each", decide="argmax")


def _sequences(settings: Settings, weights: Tensors, embedding: dense.Dense, tokens: Tokens) -> Head:
    found, pad = weights.take("score.weight", None, embedding.shape[1]), settings.value("pad_token_id")
    labels, problem = _labels(settings, len(found)), settings.value("problem_type")
    several = len(labels) > 1 and problem != "multi_label_classification"
    settings.take("problem_type", "none" if problem is None else problem)
    settings.take("pad_token_id", "none" if pad is None else pad)
    # The library takes the last token that is not padding, wherever it is.
    padded = isinstance(pad, int) and 0 <= pad < len(tokens)
    alphabet = tuple(token for number, token in enumerate(tokens) if number != pad) if padded else None
    padding = tokens[pad] if isinstance(pad, int) and padded else None
    decide: Literal["argmax", "above"] = "argmax" if several else "above"
    return found, None, labels, dense.Readout(decide=decide, alphabet=alphabet, padding=padding)


def _each_token(settings: Settings, weights: Tensors, embedding: dense.Dense, tokens: Tokens) -> Head:
    found = weights.take("classifier.weight", None, embedding.shape[1])
    labels, bias = _labels(settings, len(found)), weights.take("classifier.bias", len(found))
    return found, bias, labels, dense.Readout(at="each", decide="argmax" if len(labels) > 1 else "above")


_HEADS: dict[str, Callable[[Settings, Tensors, dense.Dense, Tokens], Head]] = {
    LANGUAGE_MODEL: _language_model,
    "GPT2ForSequenceClassification": _sequences,
    "GPT2ForTokenClassification": _each_token,
}


def _labels(settings: Settings, count: int) -> Tokens:
    """Return the names of a classifier's outputs."""
    named = settings.value("id2label")
    for key in ("num_labels", "_num_labels"):
        settings.neutral(key, count)
    if named is None:
        return tuple(map(str, range(count)))
    keys = list(map(str, range(count)))
    right = isinstance(named, dict) and named.keys() == set(keys) and all(isinstance(t, str) for t in named.values())
    if not right or len(set(named.values())) < count:
        raise settings.at("id2label").error(f"an object with {count} different labels, by the outputs 0 to {count - 1}")
    return tuple(named[key] for key in keys)


def _refuse_others(settings: Settings) -> None:
    """Raise InputError for a setting that changes the computed function, and for any setting not known to leave it
    unchanged."""
    settings.harmless(*TRAINING, *RUNNING, *GENERATING, *READ_LATER)
    settings.neutral("pruned_heads", {})
    for key in ("add_cross_attention", "is_encoder_decoder", "tie_encoder_decoder"):
        settings.neutral(key, False)
    settings.done()
