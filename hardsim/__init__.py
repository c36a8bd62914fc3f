"""hardsim: does this soft-attention transformer do what the hard-attention theory says?"""
