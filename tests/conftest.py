"""The same examples on every run: what passed yesterday fails today only because the code has changed. And the same
signals: what a shell starts in the background has Ctrl-C ignored, and tests that press it would wait for ever."""

import signal

from hypothesis import settings

settings.register_profile("hansard", derandomize=True, deadline=None, database=None)
settings.load_profile("hansard")

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
