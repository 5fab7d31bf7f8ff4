"""Commands speak TLS with a cluster that has certificates, by a profile that names its authority."""

from pathlib import Path

import pytest

from tests.cli.conftest import Run
from tests.cluster.command import started
from tests.server.trio import free_addresses


def test_a_profile_with_an_authority_reaches_a_cluster_with_certificates(
    tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    certificates = tmp_path / "certs"
    assert run("certs", "make", certificates, "--name", "a=127.0.0.1").exit_code == 0
    ((host, port),) = free_addresses(1)
    files = [word for name, file in TLS.items() for word in (f"--tls-{name}", certificates / file)]
    founding = ["--found", "--open", "--buckets", "1", "--replication", "1"]
    with started(tmp_path / "a", "--name", "a", "--listen", f"{host}:{port}", *founding, *files) as participant:
        participant.ready()
        profiles = tmp_path / "profiles.toml"
        profiles.write_text(f'[here]\naddresses = ["{host}:{port}"]\nca = "{certificates / "ca.pem"}"\n')
        monkeypatch.setenv("HANSARD_PROFILES", str(profiles))
        assert run("status", "--profile", "here").exit_code == 0
        assert run("submit", "k", "v", "--profile", "here").stdout.startswith("stored in bucket 0")
        assert run("read", "--profile", "here").stdout.endswith("k  -  v\n")
        without = run("status", "--at", f"{host}:{port}")
        assert without.exit_code == 1 and "no participant answers" in without.stderr


TLS = {"cert": "a.pem", "key": "a.key", "ca": "ca.pem"}
