"""Batches: what is built is what is read, and what is no batch is refused."""
