"""The worlds that are explored, the largest last: what is wrong is best seen in a small one."""

from typing import Final

from .world import World

_CRASHES: Final = ("crashed", "a crash lost an entry", "a crash lost a promise")
_CONTESTED: Final = (
    *("elected", "stepped down", "deposed", "two candidates in one term", "two leaders at once"),
    *("a vote was refused beside a leader", "a vote was refused to a worse log"),
    "an entry was cut",
    *("an old entry on a majority was not committed", "an old entry was committed by a later one"),
)
"""What happens where several may lead one after the other."""

_ALL: Final = (
    World(
        name="pair",
        story="Two voters, two terms, one proposal, a crash.",
        voters=("a", "b"),
        terms_max=2,
        timeouts_max=1,
        proposers=("x",),
        crashes_max=1,
        sometimes=(*_CRASHES, "elected", "deposed", "an old entry was committed by a later one"),
    ),
    World(
        name="pair-exact",
        story="The same with everything heard that is said.",
        voters=("a", "b"),
        terms_max=2,
        timeouts_max=1,
        proposers=("x",),
        crashes_max=1,
        exact=True,
        sometimes=(
            *(
                *_CRASHES,
                "a crash kept a vote before it was said",
                "elected",
                "deposed",
                "an old entry was committed by a later one",
            ),
            *("a pre-vote was refused", "a vote was refused that another has"),
        ),
    ),
    World(
        name="pair-slow",
        story="Two voters whose disks take their time, two terms, one proposal, a crash.",
        voters=("a", "b"),
        terms_max=2,
        timeouts_max=1,
        proposers=("x",),
        crashes_max=1,
        slow=True,
        sometimes=(
            *_CRASHES,
            "a crash kept a vote before it was said",
            "elected",
            "an old entry was committed by a later one",
        ),
    ),
    World(
        name="first-exact",
        story="Three voters elect their first leader with everything heard that is said. Somebody crashes.",
        terms_max=1,
        timeouts_max=1,
        crashes_max=1,
        exact=True,
        sometimes=(*_CRASHES, "a crash kept a vote before it was said", "elected", "two candidates in one term"),
    ),
    World(
        name="first-slow",
        story="The first term of three voters whose disks take their time. One proposal, a crash.",
        terms_max=1,
        timeouts_max=1,
        proposers=("x",),
        crashes_max=1,
        slow=True,
        sometimes=(*_CRASHES, "a crash kept a vote before it was said", "two candidates in one term"),
    ),
    World(
        name="small",
        story="Three voters, two terms, a timeout for each, one proposal, a crash.",
        terms_max=2,
        timeouts_max=1,
        proposers=("x",),
        crashes_max=1,
        tried=True,
        sometimes=(*_CRASHES, *_CONTESTED),
    ),
    World(
        name="turnover",
        story="Three voters, three terms, a timeout for each, a crash; there is only what leaders begin with.",
        terms_max=3,
        timeouts_max=1,
        crashes_max=1,
        sometimes=(*_CRASHES, *_CONTESTED),
    ),
    World(
        name="figure-eight",
        story="Three voters, four terms, two timeouts for each: as many as it takes to overwrite what a majority had.",
        terms_max=4,
        timeouts_max=2,
        sometimes=_CONTESTED,
    ),
    World(
        name="series",
        story="Three voters, two terms, a timeout for each, two proposals of one participant in their order, a crash.",
        terms_max=2,
        timeouts_max=1,
        proposers=("x", "x"),
        crashes_max=1,
        tried=True,
        sometimes=(*_CRASHES, *_CONTESTED, "proposals committed: 2"),
    ),
    World(
        name="two-crashes",
        story="Three voters, two terms, a timeout for each, one proposal, two crashes.",
        terms_max=2,
        timeouts_max=1,
        proposers=("x",),
        crashes_max=2,
        sometimes=(*_CRASHES, *_CONTESTED),
    ),
    World(
        name="two-terms",
        story="Three voters, two terms, two timeouts for each, two proposals, a crash.",
        terms_max=2,
        timeouts_max=2,
        proposers=("x", "y"),
        crashes_max=1,
        sometimes=(*_CRASHES, *_CONTESTED, "proposals committed: 2"),
    ),
    World(
        name="calm",
        story="Three voters, three terms, two timeouts for each, two proposals. Nothing crashes.",
        terms_max=3,
        timeouts_max=2,
        proposers=("x", "y"),
        sometimes=(*_CONTESTED, "proposals committed: 2"),
    ),
    World(
        name="three-terms",
        story="Three voters, three terms, two timeouts for each, two proposals, a crash.",
        terms_max=3,
        timeouts_max=2,
        proposers=("x", "y"),
        crashes_max=1,
        sometimes=(*_CRASHES, *_CONTESTED, "proposals committed: 2"),
    ),
)

WORLDS: Final = {world.name: world for world in _ALL}
LARGEST: Final = _ALL[-1].name
