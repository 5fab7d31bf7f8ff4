"""What `hansard certs` makes is good, for both sides and for nobody else; bad certificates are named."""

import os
import ssl
from datetime import timedelta
from pathlib import Path

import pytest

from hansard.server.authority import CannotMake, Wanted, make
from hansard.server.errors import BadCertificates
from hansard.server.tls import Certificates, Unconfirmed, confirm, loaded, names_of, why

from .papers import expire, files, papers, renew

# Making them.


def test_keys_are_for_their_owner_only_and_certificates_for_everybody(tmp_path: Path) -> None:
    mask = os.umask(0)
    try:
        wrote = make(tmp_path / "certs", [Wanted("a", ("a.example", "10.0.0.1"))])
    finally:
        os.umask(mask)
    assert [path.name for path in wrote] == ["ca.pem", "ca.key", "a.pem", "a.key"]
    modes = {path.name: path.stat().st_mode & 0o777 for path in wrote}
    assert modes == {"ca.pem": 0o644, "ca.key": 0o600, "a.pem": 0o644, "a.key": 0o600}
    assert (tmp_path / "certs").stat().st_mode & 0o777 == 0o700
    shown = loaded(files(tmp_path / "certs", "a"), "a").shown
    assert ("IP Address", "10.0.0.1") in shown["subjectAltName"] and names_of(shown) == ("a", "a.example")


def test_nothing_that_is_there_is_written_over(tmp_path: Path) -> None:
    papers(tmp_path, "a")
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    with pytest.raises(CannotMake, match=r"a\.pem.* exist already, and nothing is written over: move them away"):
        make(tmp_path, [Wanted("b"), Wanted("a")])
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before
    make(tmp_path, [Wanted("b")])
    loaded(files(tmp_path, "b"), "b")
    assert (tmp_path / "ca.pem").read_bytes() == before["ca.pem"]


def test_half_an_authority_is_named(tmp_path: Path) -> None:
    papers(tmp_path, "a")
    key = (tmp_path / "ca.key").read_bytes()
    (tmp_path / "ca.key").unlink()
    with pytest.raises(CannotMake, match=r"ca\.key is missing"):
        make(tmp_path, [Wanted("b")])
    (tmp_path / "ca.key").write_bytes(b"nonsense")
    with pytest.raises(CannotMake, match="are no certificate and key"):
        make(tmp_path, [Wanted("b")])
    (tmp_path / "ca.key").write_bytes((tmp_path / "a.key").read_bytes())
    with pytest.raises(CannotMake, match="is not the key of"):
        make(tmp_path, [Wanted("b")])
    (tmp_path / "ca.key").write_bytes(key)
    make(tmp_path, [Wanted("b")])


# Loading them.


def test_own_certificate_is_loaded(tmp_path: Path) -> None:
    loaded(files(papers(tmp_path, "a"), "a", clients_required=True), "a")


def test_certificate_of_another_name_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadCertificates, match="it is for a, and not for b: give b's own"):
        loaded(files(papers(tmp_path, "a"), "a"), "b")


def test_nobody_is_called_localhost(tmp_path: Path) -> None:
    with pytest.raises(BadCertificates, match="not for localhost"):
        loaded(files(papers(tmp_path, "a"), "a"), "localhost")


def test_expired_certificate_is_refused(tmp_path: Path) -> None:
    expire(papers(tmp_path, "a"), "a")
    with pytest.raises(BadCertificates, match=r"a\.pem: nobody would accept it: certificate has expired"):
        loaded(files(tmp_path, "a"), "a")


def test_certificate_that_is_not_in_force_yet_is_refused(tmp_path: Path) -> None:
    expire(papers(tmp_path, "a"), "a", ago=-timedelta(days=10))
    with pytest.raises(BadCertificates, match="not yet valid"):
        loaded(files(tmp_path, "a"), "a")


def test_certificate_of_another_authority_is_refused(tmp_path: Path) -> None:
    papers(tmp_path / "ours", "a"), papers(tmp_path / "theirs", "a")
    (tmp_path / "ours" / "ca.pem").write_bytes((tmp_path / "theirs" / "ca.pem").read_bytes())
    with pytest.raises(BadCertificates, match=r"nobody would accept it: .*; it must be in force, of .*ca.pem"):
        loaded(files(tmp_path / "ours", "a"), "a")


@pytest.mark.parametrize(
    ("part", "content", "told"),
    [
        ("a.pem", None, "cannot be read (No such file or directory)"),
        ("a.key", None, "cannot be read (No such file or directory)"),
        ("ca.pem", None, "cannot be read (No such file or directory)"),
        ("a.pem", b"nonsense", "is no certificate and key in PEM form"),
        ("a.key", b"nonsense", "is no certificate and key in PEM form"),
        ("ca.pem", b"nonsense", "holds no certificate in PEM form"),
        ("ca.pem", b"", "holds no certificate in PEM form"),
    ],
)
def test_file_that_is_none_is_named(tmp_path: Path, part: str, content: bytes | None, told: str) -> None:
    papers(tmp_path, "a")
    if content is None:
        (tmp_path / part).unlink()
    else:
        (tmp_path / part).write_bytes(content)
    with pytest.raises(BadCertificates) as refusal:
        loaded(files(tmp_path, "a"), "a")
    assert part in str(refusal.value) and told in str(refusal.value)


def test_key_of_another_certificate_is_named(tmp_path: Path) -> None:
    papers(tmp_path, "a", "b")
    (tmp_path / "a.key").write_bytes((tmp_path / "b.key").read_bytes())
    with pytest.raises(BadCertificates, match=r"a\.key: is not the key of .*a\.pem"):
        loaded(files(tmp_path, "a"), "a")


# Using others.


def test_new_files_are_used_and_bad_ones_are_not(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    certificates = Certificates(files(papers(tmp_path, "a"), "a"), "a")
    first = certificates.answering
    certificates.look()
    assert certificates.answering is first
    renew(tmp_path, "a")
    certificates.look()
    second = certificates.answering
    assert second is not first and "new certificates are used from now on" in caplog.text
    (tmp_path / "a.pem").write_bytes(b"half a certif")
    certificates.look()
    certificates.look()
    assert certificates.answering is second and caplog.text.count("the new certificates are not used") == 1
    renew(tmp_path, "a")
    certificates.look()
    assert certificates.answering is not second


def test_certificate_that_will_expire_soon_is_talked_about(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    make(tmp_path, [Wanted("a")], days=5)
    certificates = Certificates(files(tmp_path, "a"), "a")
    certificates.look()
    assert caplog.text.count("a.pem expires on") == 1


# Who is who.


def test_who_shows_no_certificate_is_nobody() -> None:
    with pytest.raises(Unconfirmed, match="it says that it is a, and it shows no certificate"):
        confirm({}, "a")


def test_who_is_named_by_its_certificate_is_confirmed(tmp_path: Path) -> None:
    shown = loaded(files(papers(tmp_path, "a"), "a"), "a").shown
    confirm(shown, "a")
    with pytest.raises(Unconfirmed, match="it says that it is b, and its certificate is for a"):
        confirm(shown, "b")


def test_errors_of_tls_are_told_in_words() -> None:
    error = ssl.SSLError(1, "[SSL: WRONG_VERSION_NUMBER] wrong version number (_ssl.c:992)")
    error.reason = "WRONG_VERSION_NUMBER"
    assert why(error) == "it does not speak TLS"
    error.reason = "SOMETHING_ELSE"
    assert why(error) == "something else"
