"""Scenarios: short plays with the real phaser, written as text and told again as a trace.

A scenario file has two halves. The upper one is written by hand: comments that say what must happen and why, commands,
and `expect` lines that hold or fail the scenario. Below the first line of dashes is the trace of each shape of
government, which is made anew by a flag and reviewed like code.

    # A leader cut off from one member must not acknowledge, however long it waits.
    appoint 1 a: a b c
    settle
    cut a-c
    submit a k=1
    run 5s
    expect no answer 1
    ---- star
    ...

Everything is deterministic: time is virtual, a message takes a millisecond, a sync two, and all participants get a tick
each 100 ms. The commands are listed in commands.py, what can be expected in expectation.py. Time, ways, the trace and
the form of a file (scene.py, links.py, usual.py, transcript.py) know nothing of phasers.
"""
