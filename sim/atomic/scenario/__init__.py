"""Scenarios of the atomic log: short plays with the real consensus core, written as text and told again as a trace.

Their form is that of the phaser's (sim/scenario). The commands are listed in commands.py, what can be expected in
expectation.py; promise.py says what is checked unasked, after every event of every scenario.

    # An entry that only the leader has is lost with it, and nobody was told that it is there.
    assemble a b c
    cut a-b
    cut a-c
    propose a x
    crash a
    run 600ms
    expect leader b term 2
    expect not committed x on b c
    ----
    ...

Everything is deterministic: time is virtual, a message takes a millisecond, a sync two, and everybody gets a tick each
20 ms. Chance is fixed too: each participant waits for a leader a little longer than the one that came before it.
"""
