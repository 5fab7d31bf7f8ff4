"""Measurements: one module for each claim, beside the limit of the same machine. `python -m bench.batch` runs one."""
