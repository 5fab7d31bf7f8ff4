"""What a user asks for, checked once. Spark hands options over as texts whose names have lost their capitals; here they
get them back, and whatever is wrong is said with the name of the option.

    endpoints             host:port of participants, separated by commas
    token                 of a cluster that asks for one
    tlsCa                 the authority's certificate; with it all is said over TLS
    tlsCert, tlsKey       a certificate of one's own, and its key
    timeoutSeconds        for somebody to answer, before a task fails

Reading:

    since, until          a bookmark, a time with its zone, `earliest` or `latest`
    tags, match           changes with any (or all) of these tags, separated by commas
    key                   changes of this key
    buckets               changes of these buckets, separated by commas
    columns               of these columns, in this order
    keyFormat             binary or string
    valueFormat           binary, string, or json with a `schema`
    schema                of the JSON, as DDL: `plan STRING, seats INT`
    records               `true`: what tools keep in the log for themselves is shown, too
    maxRowsPerPartition   so much is read by one task at most
    failOnDataLoss        `false`: what is not retained any more is left out

Streams:

    maxRowsPerTrigger, maxBytesPerTrigger
    hold                  the name under which what is not read yet is retained

Writing:

    sinkId                the name under which every row is stored once
    batchId               which of its batches this is, where Spark does not say so
    keyColumn, valueColumn, tagsColumn
    orderBy               columns by which the changes of a task are put into order, before their content
"""

import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from difflib import get_close_matches
from typing import Final

from hansard.bookmark import Bookmark
from hansard.client.roster import split_address

CLUSTER: Final = ("endpoints", "token", "tlsCa", "tlsCert", "tlsKey", "timeoutSeconds")
CHOICE: Final = (
    *("since", "tags", "match", "key", "buckets", "columns", "keyFormat", "valueFormat", "schema", "records"),
    *("maxRowsPerPartition", "failOnDataLoss"),
)
BATCH_READ: Final = (*CLUSTER, *CHOICE, "until")
STREAM_READ: Final = (*CLUSTER, *CHOICE, "maxRowsPerTrigger", "maxBytesPerTrigger", "hold")
BATCH_WRITE: Final = (*CLUSTER, "sinkId", "batchId", "keyColumn", "valueColumn", "tagsColumn", "orderBy")
STREAM_WRITE: Final = tuple(name for name in BATCH_WRITE if name != "batchId")
EVERYTHING: Final = tuple(dict.fromkeys((*BATCH_READ, *STREAM_READ, *BATCH_WRITE)))
SPARKS_OWN: Final = ("checkpointlocation", "queryname", "outputmode", "trigger")
"""Options of a stream that Spark hands on to everybody."""

ROWS_PER_PARTITION: Final = 500_000
TIMEOUT_S: Final = 30.0
EARLIEST: Final = "earliest"
LATEST: Final = "latest"

Place = Bookmark | datetime | str
"""A str is `earliest` or `latest`."""


class BadOption(ValueError):
    """The message names the option and says what to write instead."""


@dataclass(frozen=True, slots=True)
class Reach:
    """How the cluster is reached, from the driver and from every executor."""

    endpoints: tuple[str, ...]
    token: str = ""
    tls_ca: str = ""
    """The authority's certificate, as a file that driver and executors have; without it there is no TLS."""
    tls_cert: str = ""
    tls_key: str = ""
    timeout_s: float = TIMEOUT_S

    def tls(self) -> ssl.SSLContext | None:
        if not self.tls_ca:
            return None
        context = ssl.create_default_context(cafile=self.tls_ca)
        if self.tls_cert:
            context.load_cert_chain(self.tls_cert, self.tls_key or None)
        return context

    def options(self) -> dict[str, str]:
        """For `spark.read.format("hansard")` and the like."""
        said = (",".join(self.endpoints), self.token, self.tls_ca, self.tls_cert, self.tls_key)
        return {name: text for name, text in zip(CLUSTER, said, strict=False) if text}


@dataclass(frozen=True, slots=True)
class Choice:
    """Which changes are read, and as what. It travels to the executors."""

    tags: tuple[str, ...] = ()
    every: bool = False
    key: bytes | None = None
    buckets: tuple[int, ...] | None = None
    key_format: str = "binary"
    value_format: str = "binary"
    records: bool = False
    fail_on_loss: bool = True


class Given:
    """The options of one reader or writer."""

    def __init__(self, options: Mapping[str, str], allowed: tuple[str, ...], purpose: str) -> None:
        known = {name.lower(): name for name in EVERYTHING}
        self._texts: dict[str, str] = {}
        for lower, text in options.items():
            name = known.get(lower.lower())
            if lower.lower() in SPARKS_OWN:
                continue
            if name is None:
                close = get_close_matches(lower.lower(), list(known), 1)
                meant = f"did you mean {known[close[0]]}?" if close else f"there are {', '.join(allowed)}"
                raise BadOption(f"hansard has no option {lower!r}: {meant}")
            if name not in allowed:
                raise BadOption(f"the option {name} is of no use for {purpose}: leave it out")
            self._texts[name] = text.strip() if name != "key" else text

    def text(self, name: str, default: str = "") -> str:
        return self._texts.get(name, default)

    def has(self, name: str) -> bool:
        return name in self._texts

    def listed(self, name: str) -> tuple[str, ...]:
        if not self.has(name):
            return ()
        parts = tuple(part.strip() for part in self._texts[name].split(","))
        if not all(parts):
            raise BadOption(f"{name} is a list separated by commas, and {self._texts[name]!r} has an empty place in it")
        return parts

    def one_of(self, name: str, *choices: str) -> str:
        text = self.text(name, choices[0]).lower()
        if text not in choices:
            raise BadOption(f"{name} is {' or '.join(choices)}, not {self._texts[name]!r}")
        return text

    def flag(self, name: str, *, default: bool) -> bool:
        text = self.text(name, str(default)).lower()
        if text not in ("true", "false"):
            raise BadOption(f"{name} is true or false, not {self._texts[name]!r}")
        return text == "true"

    def number(self, name: str, least: int = 1) -> int | None:
        if not self.has(name):
            return None
        text = self._texts[name]
        if not text.isascii() or not text.isdigit() or int(text) < least:
            raise BadOption(f"{name} is a whole number, at least {least}, not {text!r}")
        return int(text)

    # What is made of them.

    def reach(self) -> Reach:
        endpoints = self.listed("endpoints")
        if not endpoints:
            raise BadOption("endpoints says where the cluster is: option('endpoints', 'host:7301,other:7301')")
        for endpoint in endpoints:
            try:
                split_address(endpoint)
            except ValueError as error:
                raise BadOption(f"endpoints: {error}") from None
        for name in ("tlsCert", "tlsKey"):
            if self.has(name) and not self.has("tlsCa"):
                raise BadOption(f"{name} is given without tlsCa, the authority whose certificates are trusted")
        if self.has("tlsKey") and not self.has("tlsCert"):
            raise BadOption("tlsKey is given without tlsCert, the certificate that it is the key of")
        reach = Reach(
            endpoints,
            self.text("token"),
            self.text("tlsCa"),
            self.text("tlsCert"),
            self.text("tlsKey"),
            float(self.number("timeoutSeconds") or TIMEOUT_S),
        )
        try:
            reach.tls()
        except (OSError, ssl.SSLError) as error:
            raise BadOption(f"tlsCa, tlsCert, tlsKey: {error}") from error
        return reach

    def choice(self) -> Choice:
        tags = self.listed("tags")
        if self.has("match") and not tags:
            raise BadOption("match says how many of the tags a change must have, and there are no tags")
        value_format = self.one_of("valueFormat", "binary", "string", "json")
        if (value_format == "json") != self.has("schema"):
            raise BadOption("valueFormat json and schema go together: option('schema', 'plan STRING, seats INT')")
        buckets = tuple(sorted({self._bucket(text) for text in self.listed("buckets")}))
        return Choice(
            tags,
            self.one_of("match", "any", "all") == "all",
            self.text("key").encode() if self.has("key") else None,
            buckets if self.has("buckets") else None,
            self.one_of("keyFormat", "binary", "string"),
            value_format,
            self.flag("records", default=False) or any(tag.startswith("hansard:") for tag in tags),
            self.flag("failOnDataLoss", default=True),
        )

    @staticmethod
    def _bucket(text: str) -> int:
        if not text.isascii() or not text.isdigit():
            raise BadOption(f"buckets are numbers, separated by commas, and {text!r} is none")
        return int(text)

    def place(self, name: str, default: str) -> Place:
        text = self.text(name, default)
        if text.lower() in (EARLIEST, LATEST):
            return text.lower()
        if text.startswith("b1"):
            try:
                return Bookmark.parse(text)
            except ValueError as error:
                raise BadOption(f"{name}: {error}") from error
        try:
            time = datetime.fromisoformat(text)
        except ValueError:
            raise BadOption(
                f"{name} is a bookmark, a time as 2026-03-01T12:00:00Z, earliest or latest, not {text!r}"
            ) from None
        if time.tzinfo is None:
            raise BadOption(f"{name}: the time {text!r} does not say in which zone it is: add Z, or +01:00")
        return time.astimezone(UTC)

    @property
    def rows_per_partition(self) -> int:
        return self.number("maxRowsPerPartition") or ROWS_PER_PARTITION
