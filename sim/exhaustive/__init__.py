"""Every interleaving of a small world: the same phaser that runs in production, in all states that it can get into.

The seeded simulator goes far along single ways; this goes everywhere, within a step's reach of the start. `world.py`
has the worlds, `python -m sim.exhaustive` explores them, `properties.py` says what must be true in all states.
"""
