"""The language of `.srasp` programs (B-RASP, B-RASP[pos] and S-RASP): parsing, padding, and two oracles."""
