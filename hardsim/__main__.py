"""`python -m hardsim` is the command `hardsim`."""

from hardsim.cli.app import main

if __name__ == "__main__":
    main()
