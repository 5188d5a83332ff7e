"""Benchmarks: ratios of times, measured in one run. `make bench`."""
