"""What hardsim costs, measured in one run and told in ratios: `python -m benchmarks` (see its --help, and docs/).

One BLAS thread, in this process and those that it starts, since that is what the ratios speak of; numpy reads the
variables when it is first imported, so they are set before any module of this package is.
"""

import os

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[_name] = "1"
