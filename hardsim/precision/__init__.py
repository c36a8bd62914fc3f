"""The effect of number formats on a network: its evaluation in float32, bfloat16, float16 and float8."""
