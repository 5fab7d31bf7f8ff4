"""What `hansard start` is told, from where, what counts, and what is said of mistakes: all of it at once."""

from pathlib import Path
from typing import Any

import pytest

from hansard.consensus import home as homes
from hansard.consensus.cluster import ClusterId
from hansard.distributor.settings import Shape
from hansard.server.logs import Format
from hansard.server.plan import Planned, planned
from hansard.server.settings import SETTINGS, flag, gathered, variable
from hansard.storage.disk import RealDisk


def plan(flags: dict[str, Any], environment: dict[str, str] | None = None, file: Path | None = None) -> Planned:
    return planned(gathered(flags, environment or {}, file))


def founder(tmp_path: Path, **flags: Any) -> Planned:
    return plan({"directory": tmp_path / "data", "name": "a", "found": True, **flags})


# Where from.


def test_command_line_counts_before_environment_and_that_before_file(tmp_path: Path) -> None:
    file = tmp_path / "settings.toml"
    file.write_text('zone = "file"\nname = "file"\nlisten = "127.0.0.1:1"\n')
    chosen = gathered({"zone": "flag"}, {"HANSARD_ZONE": "variable", "HANSARD_NAME": "variable"}, file)
    assert not chosen.errors
    assert [chosen[name] for name in ("zone", "name", "listen", "shape")] == [
        *("flag", "variable", "127.0.0.1:1", "star")
    ]
    assert [chosen.sources[name] for name in ("zone", "name", "listen", "shape")] == [
        *("--zone", "HANSARD_NAME", str(file), "default")
    ]


def test_every_setting_can_come_from_each_place(tmp_path: Path) -> None:
    words = {
        "found": "true",
        "open": "true",
        "insecure": "yes",
        "buckets": "4",
        "replication": "2",
        "participants": "5",
    }
    given = {name: words.get(name, "x") for name in SETTINGS}
    file = tmp_path / "settings.toml"
    file.write_text("\n".join(f'{name} = "{value}"' for name, value in given.items()))
    by_flag, by_variable, by_file = (
        gathered(given, {}, None),
        gathered({}, {variable(name): value for name, value in given.items()}, None),
        gathered({}, {}, file),
    )
    assert not by_flag.errors and not by_variable.errors and not by_file.errors
    assert by_flag.values == by_variable.values
    assert set(by_flag.sources.values()) == {flag(name) for name in SETTINGS}
    assert set(by_file.sources.values()) == {str(file)}


def test_paths_in_a_file_are_meant_from_where_it_lies(tmp_path: Path) -> None:
    file = tmp_path / "settings.toml"
    file.write_text('directory = "data"\ntls_ca = "/etc/ca.pem"\n')
    chosen = gathered({}, {"HANSARD_TLS_KEY": "a.key"}, file)
    assert chosen["directory"] == tmp_path / "data"
    assert (chosen["tls_ca"], chosen["tls_key"]) == (Path("/etc/ca.pem"), Path("a.key"))


def test_several_addresses_are_separated_by_spaces_or_commas() -> None:
    assert gathered({}, {"HANSARD_JOIN": "a:1, b:2 c"}, None)["join"] == ("a:1", "b:2", "c")
    assert gathered({"join": ["a:1,b:2", "c"]}, {}, None)["join"] == ("a:1", "b:2", "c")


def test_empty_variable_counts_for_nothing() -> None:
    assert not gathered({}, {"HANSARD_NAME": "", "HANSARD_FOUND": ""}, None).given("name")


@pytest.mark.parametrize("word", ["1", "true", "Yes", " on "])
def test_words_for_yes(word: str) -> None:
    assert gathered({}, {"HANSARD_FOUND": word}, None)["found"] is True


@pytest.mark.parametrize("word", ["0", "false", "No", "off"])
def test_words_for_no(word: str) -> None:
    assert gathered({}, {"HANSARD_FOUND": word}, None)["found"] is False


# Mistakes of form.


@pytest.mark.parametrize(
    ("name", "value", "error"),
    [
        ("buckets", "many", "must be a whole number, not 'many'"),
        ("buckets", "9" * 30, "must be a whole number"),
        ("found", "perhaps", "must be true or false, not 'perhaps'"),
        ("directory", 7, "must be a text, not 7"),
        ("join", [7], "must be a list of texts, not [7]"),
    ],
)
def test_value_that_cannot_be_is_told_with_its_source(name: str, value: Any, error: str) -> None:
    (told,) = gathered({name: value}, {}, None).errors
    assert told.startswith(f"{name} ({flag(name)}): {error}")


def test_file_is_told_of_completely(tmp_path: Path) -> None:
    file = tmp_path / "settings.toml"
    file.write_text('buckts = 3\nlisten = 5\nwhatever = true\nfound = "x"\n')
    errors = gathered({}, {}, file).errors
    assert errors[0] == f"{file}: there is no setting buckts: did you mean buckets?"
    assert errors[1] == f"listen ({file}): must be a text, not 5"
    assert errors[2].startswith(f"{file}: there is no setting whatever: there are directory, name, ")
    assert errors[3] == f"found ({file}): must be true or false, not 'x'"


def test_file_that_is_none_is_told(tmp_path: Path) -> None:
    (missing,) = gathered({}, {}, tmp_path / "none.toml").errors
    assert missing == f"{tmp_path / 'none.toml'} cannot be read: No such file or directory"
    (tmp_path / "bad.toml").write_text("listen 5")
    (bad,) = gathered({}, {}, tmp_path / "bad.toml").errors
    assert "is no TOML" in bad
    (tmp_path / "binary.toml").write_bytes(b"\xff\xfe")
    (binary,) = gathered({}, {}, tmp_path / "binary.toml").errors
    assert "cannot be read" in binary


def test_slip_of_the_pen_in_the_environment_is_told_and_what_is_not_ours_is_not() -> None:
    others = {"HANSARD_CONFIG": "x", "HANSARD_SERVICE_HOST": "10.0.0.1", "HANSARD_PORT_7301_TCP": "tcp://10.0.0.1"}
    assert not gathered({}, {**others, "HANSARD_NAME": "a"}, None).errors
    assert gathered({}, {"HANSARD_LISTN": "x", "HANSARD_JOINFILE": "y"}, None).errors == [
        "HANSARD_JOINFILE: there is no such setting: did you mean HANSARD_JOIN_FILE?",
        "HANSARD_LISTN: there is no such setting: did you mean HANSARD_LISTEN?",
    ]


# Mistakes of sense.


def test_founder_needs_a_directory_and_nothing_else(tmp_path: Path) -> None:
    found = founder(tmp_path)
    assert not found.errors and not found.goes_on
    assert found.plan.found is not None and found.plan.found.buckets == 8
    assert found.plan.found.settings.shape is Shape.STAR and found.plan.found.settings.replication == 3
    assert found.plan.address == "127.0.0.1:7301" and found.log_format is Format.AUTO
    assert not (tmp_path / "data").exists()


def test_all_mistakes_are_told_together(tmp_path: Path) -> None:
    errors = founder(
        tmp_path,
        name="x y",
        listen="::1:7301",
        advertise="0.0.0.0:1",
        buckets="7",
        replication="-1",
        shape="ring",
        participants=0,
        join=["bar:"],
        tls_cert="nope",
        tls_clients="maybe",
        log_level="loud",
        log_format="xml",
    ).errors
    for told in [
        "name (--name): 'x y' is no name",
        "listen (--listen): '::1:7301' is no address: write [::1]:7301",
        "advertise (--advertise): 0.0.0.0:1 is nothing that others could reach",
        "buckets (--buckets): must be a power of two from 1 to 4096, not 7",
        "replication (--replication): replication must be from 1 to 5, not -1",
        "shape (--shape): must be star or chain, not 'ring'",
        "participants (--participants): must be 1 or more, not 0",
        "join (--join): 'bar:' is no address",
        "join (--join): excludes found (--found)",
        "TLS takes a certificate, its key and the authority's certificate: give --tls-key, --tls-ca",
        "tls_clients (--tls-clients): must be optional or require, not 'maybe'",
        "log_level (--log-level): must be one of debug, info, warning, error, not 'loud'",
        "log_format (--log-format): must be one of auto, human, json, not 'xml'",
    ]:
        assert any(error.startswith(told) for error in errors), (told, errors)


def test_who_neither_founds_nor_joins_has_no_cluster(tmp_path: Path) -> None:
    (error,) = plan({"directory": tmp_path / "data", "name": "a"}).errors
    assert error.startswith("it has no cluster yet: give --found to found one, or --join HOST:PORT")


def test_settings_of_a_founding_are_for_founders_when_they_are_on_the_command_line(tmp_path: Path) -> None:
    joining = {"directory": tmp_path / "data", "name": "a", "join": ["b"]}
    (error,) = plan({**joining, "buckets": "4"}).errors
    assert error.startswith("buckets (--buckets): goes with --found only")
    assert not plan(joining, {"HANSARD_BUCKETS": "4"}).errors


@pytest.mark.parametrize("name", ["localhost", "", "-a", "a b", "a/b", "ä", "a" * 64])
def test_names_that_cannot_be(tmp_path: Path, name: str) -> None:
    assert any("is no name" in error for error in founder(tmp_path, name=name).errors)


@pytest.mark.parametrize(
    ("listen", "advertise", "fault"),
    [
        ("127.0.0.1:7301", None, None),
        ("localhost", None, None),
        ("[::1]:7301", None, None),
        ("127.0.0.1:0", None, "port 0 is none that others could be told"),
        ("10.0.0.1:7301", None, "10.0.0.1 can be reached by others, and there is no TLS"),
        ("a.example", None, "a.example can be reached by others, and there is no TLS"),
        ("0.0.0.0:7301", "127.0.0.1:7301", "0.0.0.0 is every address of this machine, and there is no TLS"),
        ("[::]:7301", "127.0.0.1:7301", ":: is every address of this machine, and there is no TLS"),
        ("127.0.0.1:7301", "a.example:7301", "a.example can be reached by others, and there is no TLS"),
    ],
)
def test_without_tls_it_listens_on_loopback_only(
    tmp_path: Path, listen: str, advertise: str | None, fault: str | None
) -> None:
    given = {"listen": listen} | ({"advertise": advertise} if advertise else {})
    errors = founder(tmp_path, **given).errors
    assert len(errors) == (fault is not None), errors
    if fault is not None:
        assert fault in errors[0]
        assert founder(tmp_path, **given, insecure=True).errors == (errors if "port 0" in fault else ())


def test_everywhere_is_no_address_to_be_told(tmp_path: Path) -> None:
    (error,) = founder(tmp_path, listen="0.0.0.0:7301", insecure=True).errors
    assert "give --advertise HOST:PORT beside it" in error


# The directory.


def test_directory_says_who_it_is_and_that_it_goes_on(tmp_path: Path) -> None:
    homes.found(RealDisk(tmp_path / "data"), "somebody", ClusterId("c"), 1).close()
    found = plan({"directory": tmp_path / "data"})
    assert not found.errors and found.goes_on and found.plan.node == "somebody"
    (error,) = plan({"directory": tmp_path / "data", "name": "other"}).errors
    assert "the directory is somebody's, not other's: start it as somebody" in error


def test_directory_of_somebody_else_is_refused_and_that_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.doc").touch()
    (error,) = plan({"directory": tmp_path, "name": "a"}).errors
    assert "holds thesis.doc and does not say which participant's it is: give an empty one" in error
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.doc"]


def test_file_system_of_its_own_counts_as_empty(tmp_path: Path) -> None:
    (tmp_path / "lost+found").mkdir()
    assert not plan({"directory": tmp_path, "name": "a", "found": True}).errors
    homes.found(RealDisk(tmp_path), "a", ClusterId("c"), 1).close()


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ('{"format": 99}', "of format 99, and this release reads format 1: start it with the release that wrote it"),
        ('{"format": 1, "node": "a", "checksum": "0"}', "its checksum does not match): put a copy of it back"),
        ("{", "participant.json is damaged"),
    ],
)
def test_directory_of_another_release_or_damaged_is_refused(tmp_path: Path, content: str, told: str) -> None:
    (tmp_path / "participant.json").write_text(content)
    (error,) = plan({"directory": tmp_path, "name": "a"}).errors
    assert error.startswith(f"directory (DIR): {tmp_path}: ") and told in error


def test_file_is_no_directory(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    (error,) = plan({"directory": tmp_path / "file", "name": "a", "found": True}).errors
    assert "is no directory: give another one" in error
