"""StableLM: as Llama, with LayerNorm, rotary positions on a part of each head, and maybe parallel steps of one norm.

Source: transformers, `models/stablelm/modeling_stablelm.py` (Bellagente et al. 2024, arXiv 2402.17834).
"""

from __future__ import annotations

from fractions import Fraction

from hardsim.network.dense import Norm, RootScale
from hardsim.reading.huggingface.causal import CausalBody, CausalFamily
from hardsim.reading.huggingface.decoder import DecoderPlan, HeadNorms, NormNames, gated, read_decoder, read_sizes
from hardsim.reading.huggingface.known import ACTIVATIONS
from hardsim.reading.huggingface.parts import ScoreRules, StoredModel


def _body(model: StoredModel) -> CausalBody:
    settings, sizes = model.settings, read_sizes(model, groups=32)
    shape = sizes.shape
    activation = settings.choice("hidden_act", ACTIVATIONS, "silu")
    epsilon = settings.epsilon("layer_norm_eps")
    rules = ScoreRules(RootScale(root=shape.key), model.rotary(shape.key, part=Fraction(1, 4)))
    biased, normed = settings.truth("use_qkv_bias", False), settings.truth("qk_layernorm", False)
    parallel = settings.truth("use_parallel_residual", False)
    model.settled("max_position_embeddings")

    def norms(name: str, count: int) -> list[Norm]:
        return [model.layer_norm(f"{name}.norms.{n}", shape.key, epsilon, bias=False) for n in range(count)]

    def head_norms(name: str) -> HeadNorms:
        if not normed:
            return (), ()
        return norms(f"{name}q_layernorm", shape.heads), norms(f"{name}k_layernorm", shape.groups)

    plan = DecoderPlan(
        lambda layer: rules,
        lambda name: model.layer_norm(name, sizes.width, epsilon),
        gated(model, sizes, activation),
        bias=biased,
        names=NormNames(norm_2="input_layernorm") if parallel else NormNames(),
        parallel=parallel,
        head_norms=head_norms,
    )
    return read_decoder(model, sizes, plan)


STABLELM = CausalFamily("stablelm", "StableLM", "StableLm", "model.", _body, "embed_tokens.weight", tied=False)
