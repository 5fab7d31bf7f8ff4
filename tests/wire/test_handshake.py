import msgspec
import pytest
from msgspec.structs import replace

from hansard.wire.errors import MalformedFrame, NoCommonVersion, WrongCluster
from hansard.wire.frame import Frame, FrameReader, pack
from hansard.wire.handshake import Hello, Role, agreed_version, greeting, understood

CLIENT = Hello(Role.CLIENT)
PARTICIPANT = Hello(Role.PARTICIPANT, "cluster-1", "a1")


def framed(data: bytes) -> Frame:
    (frame,) = FrameReader().feed(data)
    return frame


def test_each_side_understands_the_others_hello() -> None:
    for hello in (CLIENT, PARTICIPANT):
        assert understood(framed(b"".join(greeting(hello)))) == hello


def test_the_highest_version_that_both_speak_is_agreed_on() -> None:
    old, new = replace(CLIENT, version_max=3), replace(PARTICIPANT, version_min=2, version_max=5)
    assert agreed_version(old, new) == agreed_version(new, old) == 3


def test_two_sides_without_a_version_in_common_say_so() -> None:
    with pytest.raises(NoCommonVersion, match="1 to 1, the other side 2 to 5"):
        agreed_version(CLIENT, replace(PARTICIPANT, version_min=2, version_max=5))


def test_another_cluster_is_refused_by_name() -> None:
    with pytest.raises(WrongCluster, match="cluster-1, and the other side belongs to cluster-2"):
        agreed_version(PARTICIPANT, replace(PARTICIPANT, cluster="cluster-2"))


def test_a_client_that_does_not_know_its_cluster_yet_is_let_in() -> None:
    assert agreed_version(PARTICIPANT, CLIENT) == 1


def test_a_later_hello_with_more_fields_is_understood() -> None:
    header = bytes(framed(b"".join(greeting(PARTICIPANT))).header)
    longer = bytes([header[0] + 1]) + header[1:] + b"\xa4more"
    assert understood(framed(b"".join(pack(longer, ())))) == PARTICIPANT


@pytest.mark.parametrize("data", [b"GET / HTTP/1.1", b"", b"\x96\x01\xa0\xa0\xa5other\x01\x01"])
def test_another_protocol_is_not_taken_for_ours(data: bytes) -> None:
    with pytest.raises(MalformedFrame):
        understood(framed(b"".join(pack(data, ()))))


def test_a_side_that_knows_no_tokens_and_one_that_does_understand_each_other() -> None:
    class Before(msgspec.Struct, frozen=True, array_like=True):
        role: Role
        cluster: str = ""
        node: str = ""
        magic: str = "hansard"
        version_min: int = 1
        version_max: int = 1

    (frame,) = FrameReader().feed(b"".join(greeting(Hello(Role.CLIENT, token="hsd_x"))))
    assert msgspec.msgpack.decode(frame.header, type=Before) == Before(Role.CLIENT)
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(Before(Role.CLIENT)), type=Hello) == Hello(Role.CLIENT)


def test_a_hello_does_not_show_its_token() -> None:
    assert "hsd_x" not in repr(Hello(Role.CLIENT, token="hsd_x"))
