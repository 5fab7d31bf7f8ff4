"""How a command finds its cluster: what is said first counts, and mistakes are named."""

from pathlib import Path

import pytest
import typer

from hansard.cli.reach import reach

PROFILES = """
default = "home"

[home]
addresses = ["127.0.0.1:7401"]

[work]
addresses = ["a.example", "b.example:99"]
token = "hsd_secret"
ca = "/etc/hansard/ca.pem"
"""


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    (tmp_path / "profiles.toml").write_text(PROFILES)
    return {"HANSARD_PROFILES": str(tmp_path / "profiles.toml")}


def test_without_anything_it_is_the_usual_port_here(tmp_path: Path) -> None:
    assert reach(None, None, {"HOME": str(tmp_path)}).addresses == ("127.0.0.1:7301",)


def test_the_command_line_counts_before_everything(environment: dict[str, str]) -> None:
    environment |= {"HANSARD_ADDRESSES": "c:1", "HANSARD_TOKEN": "t"}
    found = reach(["a:1,b:2", "[::1]"], None, environment)
    assert found == (("a:1", "b:2", "[::1]:7301"), "t", "")


def test_a_named_profile_counts_before_the_environment(environment: dict[str, str]) -> None:
    environment |= {"HANSARD_ADDRESSES": "c:1", "HANSARD_TOKEN": "t"}
    assert reach(None, "work", environment) == (
        ("a.example:7301", "b.example:99"),
        "hsd_secret",
        "/etc/hansard/ca.pem",
    )
    assert reach(None, None, {**environment, "HANSARD_PROFILE": "home"}).addresses == ("127.0.0.1:7401",)


def test_the_environment_counts_before_the_default_profile(environment: dict[str, str]) -> None:
    assert reach(None, None, environment).addresses == ("127.0.0.1:7401",)
    assert reach(None, None, {**environment, "HANSARD_ADDRESSES": "c:1 d:2"}).addresses == ("c:1", "d:2")


@pytest.mark.parametrize(
    ("profile", "text", "problem"),
    [
        ("wrok", PROFILES, "there is no profile wrok in * did you mean work?"),
        ("x", "[x]\nadresses = []", "profile x has no adresses: did you mean addresses?"),
        ("x", "[x]\naddresses = 'a'", "profile x needs addresses, a list of texts"),
        ("x", "[x", "is no TOML"),
    ],
)
def test_mistakes_are_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], profile: str, text: str, problem: str
) -> None:
    (tmp_path / "p.toml").write_text(text)
    with pytest.raises(typer.Exit) as ended:
        reach(None, profile, {"HANSARD_PROFILES": str(tmp_path / "p.toml")})
    assert ended.value.exit_code == 2
    said = capsys.readouterr().err
    assert all(part in said for part in problem.split(" * ")), said


def test_what_is_no_address_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(typer.Exit):
        reach(["a:b"], None, {})
    assert "'a:b' is no address: HOST:PORT is one" in capsys.readouterr().err


def test_urls_are_of_the_http_api_and_operators_questions_are_not_asked_there(
    capsys: pytest.CaptureFixture[str],
) -> None:
    found = reach(["https://log.example/", "http://127.0.0.1:8080"], None, {})
    assert found.addresses == ("https://log.example", "http://127.0.0.1:8080")
    with pytest.raises(typer.Exit):
        found.operator()
    assert "over the binary protocol, at HOST:PORT" in capsys.readouterr().err
    with pytest.raises(typer.Exit):
        reach(["ftp://log.example"], None, {})
    assert "http://host:port" in capsys.readouterr().err
