"""The HTTP API of a participant: changes in and out as JSON, JSON lines or Arrow, and what operators need.

It runs in the participant's own loop and decides nothing: submissions go to the core as any client's do, pages are read
as any client reads them, and orders are the questions of server/admin.py. What is here is the translation, and
what a public door needs besides: who may do what, limits, and errors that say what to do.

    problem.py                       everything that can be answered instead of what was asked for
    forms.py, content.py             what bodies look like; a body as keys, values and tags
    operation.py, openapi.py         one table of all operations: routes and their description come from it
    submitting.py, changes.py        POST /changes, the hot route
    reading.py, sheet.py             pages
    following.py                     server-sent events
    seal.py, access.py, rates.py     tokens: what they may do, see and learn
    service.py, protocol.py          the port: connections, time and size limits

The routes are described in docs/reference/http.md.
"""
