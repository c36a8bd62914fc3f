"""Benchmarks of hardsim, run together and reported as ratios: `python -m benchmarks` (see its --help, and docs/).

The ratios are defined for one BLAS thread, so this process and its children use one. numpy reads these variables when
it is first imported; they are therefore set here, before any module of this package is imported.
"""

import os

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[_name] = "1"
