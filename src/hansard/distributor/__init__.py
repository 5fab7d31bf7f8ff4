"""Which participants have which bucket: a pure function of the atomic log, the same everywhere.

Facts come in (`fact.py`), in the order of the log; what follows from them is a table (`records.py`): a government for
each bucket. Nobody is sent an order. An appointment is a fact about the state, so no crash can lose it; whoever
carries it out says so in the log (`command.Reports`), until it sees it there.
"""
