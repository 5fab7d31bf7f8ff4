"""Looks at every request of a client before it goes anywhere: whether whoever asks may ask that.

What may be goes on, limited to what its grant allows; what may not be is answered here, always with the same words. A
submission is answered `Invalid`, which says for certain that it is not stored. Operators' questions are judged where
they are understood (admin.py).
"""

from typing import assert_never

from msgspec.structs import replace

from hansard.distributor.entitlement import Scope
from hansard.wire import request as wire
from hansard.wire import submission

from .access import Access, Badge
from .grant import EVERYTHING, NOT_ALLOWED, Grant


class Usher:
    def __init__(self, access: Access) -> None:
        self._access = access

    def judge(self, badge: Badge, request: wire.Request) -> wire.Request | wire.Answer:
        grant = badge.grant
        if grant is EVERYTHING or isinstance(request, wire.Ask):
            return request
        match request:
            case submission.Submit():
                return self._submit(grant, request)
            case wire.Connect():
                return self._connect(grant, request)
            case wire.Read():
                return self._read(grant, request)
            case wire.Table():  # where to go is for everybody who may do anything
                return request if grant is not None else wire.Refused(request.id, NOT_ALLOWED)
            case wire.Import():
                may = grant is not None and grant.may(Scope.ADMIN)
                return request if may else submission.Invalid(request.id, NOT_ALLOWED)
            case _:
                assert_never(request)

    def _submit(self, grant: Grant | None, submit: submission.Submit) -> submission.Submit | wire.Answer:
        access, batch = self._access, submit.batch
        if grant is None or not grant.may(Scope.SUBMIT) or not grant.may_submit(batch):
            return submission.Invalid(submit.id, NOT_ALLOWED)
        streams = [batch.header.connection, submit.continues.connection if submit.continues is not None else 0]
        for connection in streams:
            if not access.may_use(grant, connection):
                behind = access.is_to_come(connection)
                return submission.Busy(submit.id) if behind else submission.Broken(submit.id)
        if access.wait_s(grant):
            return submission.Busy(submit.id)
        access.use(grant, len(batch), batch.length)
        return submit

    def _connect(self, grant: Grant | None, connect: wire.Connect) -> wire.Connect | wire.Answer:
        if grant is None or not grant.may(Scope.SUBMIT):
            return wire.Refused(connect.id, NOT_ALLOWED)
        if self._access.wait_s(grant):
            return wire.Connected(connect.id, 0)
        self._access.use(grant, 1, 0)  # each takes a place in the log, as a change does
        return replace(connect, name=self._access.name_for(grant, connect.name))

    def _read(self, grant: Grant | None, read: wire.Read) -> wire.Read | wire.Answer:
        limited = grant.limit(read.tags, read.every) if grant is not None and grant.may(Scope.READ) else None
        if grant is None or limited is None:
            return wire.Refused(read.id, NOT_ALLOWED)
        if self._access.wait_s(grant):
            return submission.Busy(read.id)
        return replace(read, tags=limited.tags, every=limited.every)

    def charge(self, badge: Badge, page: wire.Page) -> None:
        """It has read this."""
        grant = badge.grant
        if grant is not None and grant is not EVERYTHING:
            self._access.use(
                grant, sum([len(each) for each in page.batches]), sum([each.length for each in page.batches])
            )
