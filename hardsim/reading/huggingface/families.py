"""All families of Hugging Face networks that are read."""

from __future__ import annotations

from hardsim.reading.huggingface.albert import ALBERT
from hardsim.reading.huggingface.bert import BERT, CAMEMBERT, ELECTRA, ROBERTA, XLM_ROBERTA
from hardsim.reading.huggingface.bloom import BLOOM
from hardsim.reading.huggingface.cohere import COHERE, COHERE2
from hardsim.reading.huggingface.ctrl import CTRL
from hardsim.reading.huggingface.distilbert import DISTILBERT
from hardsim.reading.huggingface.exaone4 import EXAONE4
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
from hardsim.reading.huggingface.mistral import MINISTRAL, MISTRAL
from hardsim.reading.huggingface.modernbert import MODERNBERT
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
from hardsim.reading.huggingface.seed_oss import ERNIE, SEED_OSS
from hardsim.reading.huggingface.smollm3 import SMOLLM3
from hardsim.reading.huggingface.stablelm import STABLELM
from hardsim.reading.huggingface.starcoder2 import STARCODER2
from hardsim.reading.huggingface.xglm import BIOGPT, XGLM

CAUSAL = (
    GPT2, GPT_NEOX, GPTJ, GPT_NEO, OPT, BLOOM, LLAMA, MISTRAL, QWEN2, QWEN3, GEMMA, GEMMA2, PHI, PHI3, FALCON,
    STABLELM, GPT_BIGCODE, MPT, OLMO, OLMO2, STARCODER2, CODEGEN, COHERE, GPT_NEOX_JAPANESE, OPENAI_GPT,
    GEMMA3, SMOLLM3, GRANITE, COHERE2, OLMO3, GLM, GLM4, NEMOTRON, ARCEE, PERSIMMON, HELIUM, NANOCHAT,
    XGLM, BIOGPT, CTRL, MINISTRAL, SEED_OSS, ERNIE, EXAONE4,
)  # fmt: skip
"""The families of causal networks, in the order of the documentation."""
ENCODERS = (BERT, ROBERTA, DISTILBERT, ELECTRA, XLM_ROBERTA, CAMEMBERT, MODERNBERT, ALBERT)
"""The families of encoders."""
