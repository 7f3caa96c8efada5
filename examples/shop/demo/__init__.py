"""The shop at work in one process, with failures, repairs and a proof; see `__main__`."""
