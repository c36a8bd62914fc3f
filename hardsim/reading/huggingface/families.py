"""All families of Hugging Face networks that are read."""

from __future__ import annotations

from hardsim.reading.huggingface.bert import BERT, CAMEMBERT, ELECTRA, ROBERTA, XLM_ROBERTA
from hardsim.reading.huggingface.bloom import BLOOM
from hardsim.reading.huggingface.cohere import COHERE, COHERE2
from hardsim.reading.huggingface.distilbert import DISTILBERT
from hardsim.reading.huggingface.falcon import FALCON
from hardsim.reading.huggingface.gemma import GEMMA, GEMMA2
from hardsim.reading.huggingface.gemma3 import GEMMA3
from hardsim.reading.huggingface.glm import GLM, GLM4
from hardsim.reading.huggingface.gpt2 import GPT2
from hardsim.reading.huggingface.gpt_bigcode import GPT_BIGCODE
from hardsim.reading.huggingface.gpt_neo import GPT_NEO
from hardsim.reading.huggingface.gpt_neox import GPT_NEOX
from hardsim.reading.huggingface.gpt_neox_japanese import GPT_NEOX_JAPANESE
from hardsim.reading.huggingface.gptj import CODEGEN, GPTJ
from hardsim.reading.huggingface.granite import GRANITE
from hardsim.reading.huggingface.helium import HELIUM
from hardsim.reading.huggingface.llama import LLAMA
from hardsim.reading.huggingface.mistral import MISTRAL
from hardsim.reading.huggingface.mpt import MPT
from hardsim.reading.huggingface.nanochat import NANOCHAT
from hardsim.reading.huggingface.nemotron import ARCEE, NEMOTRON
from hardsim.reading.huggingface.olmo import OLMO, OLMO2, OLMO3
from hardsim.reading.huggingface.openai_gpt import OPENAI_GPT
from hardsim.reading.huggingface.opt import OPT
from hardsim.reading.huggingface.persimmon import PERSIMMON
from hardsim.reading.huggingface.phi import PHI
from hardsim.reading.huggingface.phi3 import PHI3
from hardsim.reading.huggingface.qwen import QWEN2, QWEN3
from hardsim.reading.huggingface.smollm3 import SMOLLM3
from hardsim.reading.huggingface.stablelm import STABLELM
from hardsim.reading.huggingface.starcoder2 import STARCODER2

CAUSAL = (
    GPT2, GPT_NEOX, GPTJ, GPT_NEO, OPT, BLOOM, LLAMA, MISTRAL, QWEN2, QWEN3, GEMMA, GEMMA2, PHI, PHI3, FALCON,
    STABLELM, GPT_BIGCODE, MPT, OLMO, OLMO2, STARCODER2, CODEGEN, COHERE, GPT_NEOX_JAPANESE, OPENAI_GPT,
    GEMMA3, SMOLLM3, GRANITE, COHERE2, OLMO3, GLM, GLM4, NEMOTRON, ARCEE, PERSIMMON, HELIUM, NANOCHAT,
)  # fmt: skip
"""The families of causal networks, in the order of the documentation."""
ENCODERS = (BERT, ROBERTA, DISTILBERT, ELECTRA, XLM_ROBERTA, CAMEMBERT)
"""The families of encoders."""

RECURRENT = "mamba", "mamba2", "falcon_mamba", "rwkv", "xlstm", "jamba", "zamba", "recurrent_gemma", "bamba"
"""The `model_type` of networks with recurrent layers in place of attention."""
TWO_PARTS = (
    "t5",
    "mt5",
    "bart",
    "mbart",
    "marian",
    "pegasus",
    "encoder-decoder",
    "m2m_100",
    "longt5",
    "switch_transformers",
)
"""The `model_type` of networks with an encoder and a decoder."""


def instead(model_type: object) -> str:
    """Return what to do with a network of a family that is not read."""
    if str(model_type) in RECURRENT:
        return (
            "It has recurrent layers, and hardsim reads networks of attention and MLPs alone: "
            "train one of these families on the same words."
        )
    if str(model_type) in TWO_PARTS:
        return "It is an encoder with a decoder, which is not supported: train one of these families on the same words."
    if str(model_type) == "albert":
        return "Its embeddings pass through a linear layer after their norm, which is not supported: BERT is."
    return "See docs/networks.md. Any other network of attention and MLPs can be written as network JSON."
