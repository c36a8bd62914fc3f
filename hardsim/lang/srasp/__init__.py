"""The language of `.srasp` programs (B-RASP, B-RASP[pos] and S-RASP): nodes, reading, and the oracle."""
