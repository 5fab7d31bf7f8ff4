"""The same examples on every run: what passed yesterday fails today only because the code has changed."""

from hypothesis import settings

settings.register_profile("hansard", derandomize=True, deadline=None, database=None)
settings.load_profile("hansard")
