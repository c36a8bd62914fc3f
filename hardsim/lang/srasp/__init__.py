"""The language of `.srasp` programs (B-RASP, B-RASP[pos] and S-RASP): syntax (ast, parse, pretty), and the oracle.

`parse.load_program`, `parse.parse_program` and `parse.parse_program_bytes` read programs, `pretty.format_program`
writes them, `interpreter.ProgramOracle` runs them, `interpreter.check_program_examples` holds them to their examples.
"""
