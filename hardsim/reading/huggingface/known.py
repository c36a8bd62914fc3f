"""Settings of `config.json` that many families share: those that change nothing in evaluation, and activations.

The names are those of `PretrainedConfig` in transformers 4 and 5, and of the configurations of the families.
"""

from __future__ import annotations

from hardsim.network.dense import Activation

ROTARY_BY_LAYER = tuple(
    f"{kind}.{name}"
    for kind in ("full_attention", "sliding_attention")
    for name in (
        "rope_type", "type", "rope_theta", "factor", "partial_rotary_factor", "low_freq_factor", "high_freq_factor",
        "beta_fast", "beta_slow", "truncate", "attention_factor", "mscale", "mscale_all_dim", "short_factor",
        "original_max_position_embeddings",
    )
)  # fmt: skip
"""The settings of rotary positions of families that have one for each kind of layers."""
SAID = (
    "n_head", "n_heads", "num_heads", "num_attention_heads", "num_key_value_heads", "num_kv_heads", "multi_query",
    "new_decoder_architecture", "head_dim", "activation_function", "activation", "hidden_act",
    "hidden_activation", "afn",
    "layer_norm_epsilon", "layer_norm_eps", "rms_norm_eps", "norm_epsilon", "norm_eps", "scale_attn_weights",
    "scale_attn_by_inverse_layer_idx", "query_pre_attn_scalar", "softmax_scale", "attention_bias", "mlp_bias",
    "use_qkv_bias", "use_bias", "bias", "enable_bias", "do_layer_norm_before", "_remove_final_layer_norm",
    "layer_norm_elementwise_affine", "apply_residual_connection_post_layernorm", "use_parallel_residual",
    "parallel_attn", "num_ln_in_parallel_attn", "qk_layernorm", "use_qk_norm", "alibi", "rope_type", "type",
    "rope_theta", "rotary_emb_base", "factor", "partial_rotary_factor", "rotary_pct", "rotary_dim", "layer_types",
    "attention_types", "use_sliding_window", "sliding_window", "max_window_layers", "window_size",
    "attn_logit_softcapping", "final_logit_softcapping", "logit_scale", "logits_scaling", "embedding_multiplier",
    "residual_multiplier", "attention_multiplier", "rope_local_base_freq", "no_rope_layers", "no_rope_layer_interval",
    "low_freq_factor", "high_freq_factor", "beta_fast", "beta_slow", "truncate", "attention_factor", "mscale",
    "mscale_all_dim", "short_factor", "original_max_position_embeddings", "sliding_window_pattern",
    "scale_embedding", "architectures", "tie_word_embeddings",
    "problem_type", "pad_token_id", "is_decoder",
    "num_hidden_groups", "inner_group_num",
    "attention_heads", "local_attention", "global_attn_every_n_layers", "norm_bias", "decoder_bias", "classifier_bias",
    "classifier_activation", "classifier_pooling", "attention_out_bias", *ROTARY_BY_LAYER,
)  # fmt: skip
"""Settings other than sizes that determine what a network computes."""
DROPOUTS = (
    "attn_pdrop", "embd_pdrop", "emb_pdrop", "resid_pdrop", "classifier_dropout", "hidden_dropout",
    "attention_dropout", "embed_dropout", "embedding_dropout", "resid_dropout", "residual_dropout",
    "activation_dropout", "dropout", "layerdrop", "attention_probs_dropout_prob", "hidden_dropout_prob", "qa_dropout",
    "seq_classif_dropout",
)  # fmt: skip
"""Dropouts: they act in training only, and do not affect evaluation."""
TRAINING = (
    *DROPOUTS, "summary_type", "summary_use_proj", "summary_activation", "summary_proj_to_labels",
    "summary_first_dropout", "initializer_range", "init_std", "gradient_checkpointing", "finetuning_task",
)  # fmt: skip
"""Settings of training, and of a head whose tensors would be refused."""
RUNNING = (
    "architectures", "transformers_version", "dtype", "torch_dtype", "use_bfloat16", "torchscript", "use_cache",
    "cache_implementation", "bos_token_id", "eos_token_id", "sep_token_id", "decoder_start_token_id",
    "tokenizer_class", "task_specific_params", "output_attentions", "output_hidden_states", "output_past",
    "return_dict", "return_dict_in_generate", "output_scores", "chunk_size_feed_forward", "reorder_and_upcast_attn",
    "_name_or_path", "_commit_hash", "_attn_implementation", "attn_implementation", "_attn_implementation_autoset",
    "_attn_implementation_internal", "is_decoder", "tf_legacy_loss", "loss_type", "unk_token_id", "mask_token_id",
    "prefix", "label2id", "predict_special_tokens",
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
ACTIVATIONS = {
    "gelu": Activation.GELU,
    "gelu_python": Activation.GELU,
    "gelu_new": Activation.GELU_NEW,
    "gelu_pytorch_tanh": Activation.GELU_NEW,
    "gelu_python_tanh": Activation.GELU_NEW,
    "gelu_accurate": Activation.GELU_NEW,
    "relu": Activation.RELU,
    "silu": Activation.SILU,
    "swish": Activation.SILU,
    "quick_gelu": Activation.QUICK_GELU,
    "tanh": Activation.TANH,
}
"""The activations of transformers that equal these functions (`gelu_fast` has a rounded constant)."""
SQUARED: dict[str, Activation | None] = {**ACTIVATIONS, "relu2": None}
"""These, and the square of relu, for MLPs without a gate: `StoredModel.mlp` makes a gated MLP for None."""
