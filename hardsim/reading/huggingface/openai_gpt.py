"""GPT, the first one: as GPT-2, with norms after the sums and no final norm.

Source: transformers, `models/openai/modeling_openai.py` (Radford et al. 2018, "Improving language understanding by
generative pre-training"). Its activation named gelu is the tanh form.
"""

from __future__ import annotations

from hardsim.network.dense import Activation, NetworkLayer, RootScale
from hardsim.reading.huggingface.causal import CausalBody, CausalFamily
from hardsim.reading.huggingface.gpt2 import conv_mlp, conv_projections
from hardsim.reading.huggingface.parts import ScoreRules, StoredModel, attention_heads

ACTIVATIONS = {
    "gelu": Activation.GELU_NEW,
    "relu": Activation.RELU,
    "silu": Activation.SILU,
    "swish": Activation.SILU,
}


def _body(model: StoredModel) -> CausalBody:
    settings = model.settings
    width, count = model.size("n_embd", "hidden_size"), model.size("n_layer", "num_hidden_layers", least=0)
    shape = model.shape(width, "n_head", "num_attention_heads", of="n_embd", grouped=False)
    rows, vocabulary = model.size("n_positions", "max_position_embeddings"), model.size("vocab_size")
    activation = settings.choice("afn", ACTIVATIONS, "gelu")
    epsilon = settings.epsilon("layer_norm_epsilon")
    model.settled("n_ctx", "n_special")
    rules, layers = ScoreRules(RootScale(root=shape.key)), []
    for layer in range(count):
        name = f"h.{layer}."
        maps = conv_projections(model, f"{name}attn.", width, shape)
        model.masks(f"{name}attn.", rows)
        mlp = conv_mlp(model, f"{name}mlp.", activation, width, 4 * width)
        norm_1, norm_2 = (model.layer_norm(f"{name}{norm}", width, epsilon) for norm in ("ln_1", "ln_2"))
        heads = attention_heads(layer, shape, maps, rules)
        layers.append(NetworkLayer(heads, mlp, maps.o.bias, norm_1, norm_2, post=True))
    embedding = model.take("tokens_embed.weight", vocabulary, width, why="vocab_size, n_embd")
    positions = model.take("positions_embed.weight", rows, width, why="n_positions, n_embd")
    return CausalBody(embedding, tuple(layers), None, positions)


OPENAI_GPT = CausalFamily(
    "openai-gpt", "GPT", "OpenAIGPT", "transformer.", _body, "tokens_embed.weight", language_model="LMHeadModel"
)
