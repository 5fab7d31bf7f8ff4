"""TLS on the one port: participants show each other certificates, clients see one and may show one.

Whoever says that it is a participant must show a certificate of our authority in whose names it is called so. Where
somebody is, and under which host name it is dialled, does not matter for that.

Files are looked at again now and then. New ones are tried before they are used, with a handshake between the two sides
that they would be; bad ones are complained about, and those before them stay in use.
"""

import logging
import ssl
import time
from collections.abc import Mapping
from pathlib import Path
from ssl import MemoryBIO, SSLContext, SSLError, SSLObject, SSLWantReadError
from typing import Any, Final

from msgspec import Struct

from hansard.wire.errors import WireError

from .errors import BadCertificates

log = logging.getLogger(__name__)

HANDSHAKE_S_MAX: Final = 5.0
SOON_S: Final = 14 * 86_400.0
"""A certificate that expires within this time is talked about, once a day."""
_DAY_S: Final = 86_400.0


class Files(Struct, frozen=True, kw_only=True):
    certificate: Path
    key: Path
    authority: Path
    clients_required: bool = False
    """Clients have to show a certificate of the authority, too."""


class Unconfirmed(WireError):
    """It says that it is somebody whom its certificate does not name."""

    def __init__(self, node: str, names: tuple[str, ...]) -> None:
        super().__init__(node, names)
        self.node, self.names = node, names

    def __str__(self) -> str:
        shown = f"its certificate is for {', '.join(self.names)}" if self.names else "it shows no certificate"
        return f"it says that it is {self.node}, and {shown}"


class Contexts(Struct, frozen=True):
    """What new connections use: those that others make, and those that we make."""

    answering: SSLContext
    dialling: SSLContext
    shown: Mapping[str, Any]
    """Our certificate, as others see it."""


class Certificates:
    """Raises BadCertificates if they are of no use, for this participant or for anybody."""

    def __init__(self, files: Files, node: str) -> None:
        self._files = files
        self._node = node
        self._seen = _marks(files)
        self._now = loaded(files, node)
        self._warned_s = float("-inf")
        self._warn()

    @property
    def answering(self) -> SSLContext:
        return self._now.answering

    @property
    def dialling(self) -> SSLContext:
        return self._now.dialling

    def look(self, *, anyway: bool = False) -> None:
        """Whether there are new ones; connections that are there stay as they are."""
        marks = _marks(self._files)
        if marks != self._seen or anyway:
            self._seen = marks
            try:
                self._now = loaded(self._files, self._node)
            except BadCertificates as error:
                log.error("the new certificates are not used: %s", error)
            else:
                log.info("new certificates are used from now on; ours is good until %s", self._now.shown["notAfter"])
                self._warned_s = float("-inf")
        self._warn()

    def _warn(self) -> None:
        now_s, until = time.time(), self._now.shown["notAfter"]
        if ssl.cert_time_to_seconds(until) - now_s < SOON_S and now_s - self._warned_s >= _DAY_S:
            self._warned_s = now_s
            log.warning("%s expires on %s: put a new one in its place", self._files.certificate, until)


def confirm(certificate: Mapping[str, Any], node: str) -> None:
    """Raises Unconfirmed unless whoever has shown this certificate, or none, is this participant. No participant has a
    colon in its name: those that have one are clients' (grant.py)."""
    names = names_of(certificate)
    if node not in names or ":" in node:
        raise Unconfirmed(node, names)


def names_of(certificate: Mapping[str, Any]) -> tuple[str, ...]:
    """Whom it is for: its DNS names and its common name. Everybody's may have `localhost`, which is nobody's name."""
    alternative = [name for kind, name in certificate.get("subjectAltName", ()) if kind == "DNS"]
    common = [value for part in certificate.get("subject", ()) for kind, value in part if kind == "commonName"]
    return tuple(name for name in dict.fromkeys([*common, *alternative]) if name != "localhost")


# Loading.


def loaded(files: Files, node: str) -> Contexts:
    answering, dialling = SSLContext(ssl.PROTOCOL_TLS_SERVER), SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    dialling.check_hostname = False  # it is the participant's name that counts, and that comes with its Hello
    answering.verify_mode = ssl.CERT_REQUIRED if files.clients_required else ssl.CERT_OPTIONAL
    for context in (answering, dialling):
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        _fill(context, files)
    shown = _tried(answering, dialling, files)
    names = names_of(shown)
    if node not in names:
        raise BadCertificates(
            str(files.certificate), f"it is for {', '.join(names) or 'nobody'}, and not for {node}: give {node}'s own"
        )
    return Contexts(answering, dialling, shown)


def _fill(context: SSLContext, files: Files) -> None:
    for path in (files.certificate, files.key, files.authority):
        try:
            path.read_bytes()
        except OSError as error:
            raise BadCertificates(str(path), f"cannot be read ({error.strerror})") from error
    try:
        context.load_verify_locations(files.authority)
    except SSLError as error:
        raise BadCertificates(str(files.authority), "holds no certificate in PEM form") from error
    try:
        context.load_cert_chain(files.certificate, files.key, password=_no_password)
    except SSLError as error:
        if error.reason == "KEY_VALUES_MISMATCH":
            raise BadCertificates(str(files.key), f"is not the key of {files.certificate}") from error
        what = f"with {files.key} is no certificate and key in PEM form ({_said(error)})"
        raise BadCertificates(str(files.certificate), what) from error


def _no_password() -> str:
    return ""


def _tried(answering: SSLContext, dialling: SSLContext, files: Files) -> Mapping[str, Any]:
    """A handshake with ourselves: OpenSSL says all that others would say. What they see of us."""
    there, back = MemoryBIO(), MemoryBIO()
    client = dialling.wrap_bio(back, there)
    server = answering.wrap_bio(there, back, server_side=True)
    try:
        waiting: list[SSLObject] = [client, server]
        while waiting:
            waiting = [side for side in waiting if not _done(side)]
    except SSLError as error:
        what = f"nobody would accept it: {_said(error)}; it must be in force, of {files.authority}, and for both sides"
        raise BadCertificates(str(files.certificate), what) from error
    shown = client.getpeercert()
    assert shown
    return shown


def _done(side: SSLObject) -> bool:
    try:
        side.do_handshake()
    except SSLWantReadError:
        return False
    return True


def _marks(files: Files) -> tuple[object, ...]:
    """Another file, or another content, has another mark."""
    marks: list[object] = []
    for path in (files.certificate, files.key, files.authority):
        try:
            found = path.stat()
        except OSError as error:
            marks.append(error.errno)
        else:
            marks.append((found.st_ino, found.st_mtime_ns, found.st_size))
    return tuple(marks)


# What went wrong, in words.

_ALERTS: Final = {
    "TLSV1_ALERT_UNKNOWN_CA": "it does not accept our certificate: of an authority that it does not know",
    "SSLV3_ALERT_CERTIFICATE_EXPIRED": "it does not accept our certificate: expired",
    "SSLV3_ALERT_BAD_CERTIFICATE": "it does not accept our certificate",
    "SSLV3_ALERT_CERTIFICATE_UNKNOWN": "it does not accept our certificate",
    "TLSV13_ALERT_CERTIFICATE_REQUIRED": "it wants a certificate, and we show none",
    "PEER_DID_NOT_RETURN_A_CERTIFICATE": "it shows no certificate, and has to",
}
_NO_TLS: Final = ("WRONG_VERSION_NUMBER", "HTTP_REQUEST", "UNKNOWN_PROTOCOL", "RECORD_LAYER_FAILURE", "BAD_RECORD_TYPE")


def why(error: SSLError) -> str:
    """Why a connection came to nothing."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"its certificate is not accepted: {error.verify_message}"
    if error.reason in _NO_TLS:
        return "it does not speak TLS"
    return _ALERTS.get(error.reason or "", _said(error))


def _said(error: SSLError) -> str:
    if isinstance(error, ssl.SSLCertVerificationError):
        return error.verify_message
    return (error.reason or str(error)).replace("_", " ").lower()
