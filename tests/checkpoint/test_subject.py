"""Of what a checkpoint is, as a tag and back; and who may read the records of which."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hansard.batch import tag_name
from hansard.checkpoint import RECORDS, RESERVED, BadSubject, Subject, may_see

TAGS = st.lists(st.text(min_size=1, max_size=20).filter(lambda tag: not tag.startswith(RESERVED)), max_size=4)


@given(TAGS, st.sampled_from(["any", "all"]))
def test_its_name_says_all_of_it(tags: list[str], match: str) -> None:
    subject = Subject.of(tags, match)  # type: ignore[arg-type]
    assert Subject.parse(subject.name) == subject
    assert Subject.of([*reversed(tags), *tags], match) == subject, "the order does not matter"  # type: ignore[arg-type]
    assert tag_name(subject.name) and subject.record_tags == (RECORDS, subject.name)


@pytest.mark.parametrize(
    "name",
    [
        *(
            "",
            "hansard:checkpoint",
            "hansard:checkpoint/",
            "hansard:checkpoint/tag/",
            "hansard:checkpoint/logs",
            "x/log",
        ),
        *('hansard:checkpoint/any/["a"]', 'hansard:checkpoint/any/["b","a"]', 'hansard:checkpoint/any/["a", "b"]'),
        *("hansard:checkpoint/all/", "hansard:checkpoint/any/{}", 'hansard:checkpoint/none/["a","b"]'),
        *("hansard:checkpoint/tag/hansard:checkpoint", 'hansard:checkpoint/all/["a","hansard:x"]'),
    ],
)
def test_what_is_no_subjects_name_is_none(name: str) -> None:
    assert Subject.parse(name) is None
    assert not may_see(name.encode(), lambda _: True)


def test_what_no_checkpoint_can_be_of_is_said() -> None:
    with pytest.raises(BadSubject, match="begin with hansard:"):
        Subject.of(["a", "hansard:checkpoint"])
    with pytest.raises(BadSubject, match="too long"):
        Subject.of(["x" * 250])


def test_who_may_read_what_it_is_about_may_read_its_records() -> None:
    def sees(name: str) -> bool:
        return may_see(name.encode(), lambda tag: tag in {b"a", b"b"})

    assert sees(Subject.of(["a"]).name) and not sees(Subject.of(["c"]).name)
    assert sees(Subject.of(["a", "b"]).name) and not sees(Subject.of(["a", "c"]).name)
    assert sees(Subject.of(["a", "c"], "all").name) and not sees(Subject.of(["c", "d"], "all").name)
    assert not sees(Subject.of().name), "the whole log is nobody's who is limited"
    assert not sees(RECORDS), "nor are all records"
