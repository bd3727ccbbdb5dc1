"""`python -m hfr_bench`, the same as `hfr-bench`."""

from hfr_bench.cli.main import main

if __name__ == "__main__":
    main()
