"""The simulator: everything around the real code that can fail, made deterministic by a seed."""
