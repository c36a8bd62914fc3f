"""What number formats do to a network: its evaluation in float32, bfloat16, float16 and float8."""
