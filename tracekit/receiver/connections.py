"""HTTP connections that cost little until a request has proved to be one.

uvicorn hands a request on when its head is complete, and bounds neither how large a head is nor how long it takes.
"""

from __future__ import annotations

import asyncio
from http import HTTPStatus

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

_READ_BYTES = 1 << 16
_HEAD_BYTES = 1 << 16
_HEAD_S = 10.0
# Pools connect before they have something to send.
_IDLE_S = 75.0
_STUCK_S = 60.0
# Each piece of a chunked body costs some Python: a body of tiny ones would cost seconds a mebibyte.
_FREE_PIECES = 4096
_LEAST_PIECE_BYTES = 64


class GuardedConnection(HttpToolsProtocol):
    """One connection: how much it may send without a body to show for it, and how long each side may take.

    It takes little at a time: with thousands of senders what was taken and not yet handed on would add up, while the
    rest waits in the system's own buffers.
    """

    most_connections = 8192
    """Connections of a port; more are told to come again."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Bound the size of one read, the time to the first request, and the number of connections."""
        # A loop that has no such bound keeps its own.
        transport.max_size = _READ_BYTES  # type: ignore[attr-defined]
        self._unaccounted_bytes = 0
        self._body_bytes = self._pieces = 0
        self._in_head = self._is_head_timed = False
        self._refused = False
        self._stuck: asyncio.TimerHandle | None = None
        self._late: asyncio.TimerHandle | None = self.loop.call_later(_IDLE_S, self._end_idle)
        super().connection_made(transport)
        if len(self.connections) > self.most_connections:
            self._refuse(503, f"there are {self.most_connections} connections already; come again later")

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget its timers."""
        self._disarm()
        self.resume_writing()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Read on, or end a connection whose head grows too long."""
        if self._refused:
            return
        self._unaccounted_bytes += len(data)
        try:
            super().data_received(data)
        except (UnicodeDecodeError, AttributeError, ValueError):
            self._refuse(400, "this is no request that a server of resources can answer: its target cannot be read")
            return
        if self._unaccounted_bytes > _HEAD_BYTES:
            self._refuse(431, f"the head of this request has more than {_HEAD_BYTES} bytes; send fewer headers")
        elif self._pieces > _FREE_PIECES + self._body_bytes // _LEAST_PIECE_BYTES:
            self._refuse(400, f"the body comes in chunks of less than {_LEAST_PIECE_BYTES} bytes; send larger ones")
        elif self._in_head and not self._is_head_timed:
            self._disarm()
            self._is_head_timed = True
            self._late = self.loop.call_later(_HEAD_S, self._end_late)

    def on_message_begin(self) -> None:
        """A head begins."""
        self._in_head = True
        self._body_bytes = self._pieces = 0
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """The head is whole."""
        self._in_head = self._is_head_timed = False
        self._unaccounted_bytes = 0
        self._disarm()
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """A piece of the body."""
        self._unaccounted_bytes = 0
        self._body_bytes += len(body)
        self._pieces += 1
        super().on_body(body)

    def on_message_complete(self) -> None:
        """The request is whole."""
        self._unaccounted_bytes = 0
        super().on_message_complete()

    def pause_writing(self) -> None:
        """The other side does not read: wait for it, but not for ever."""
        if self._stuck is None:
            self._stuck = self.loop.call_later(_STUCK_S, self.transport.abort)
        super().pause_writing()

    def resume_writing(self) -> None:
        """The other side reads again."""
        if self._stuck is not None:
            self._stuck.cancel()
            self._stuck = None
        super().resume_writing()

    def _disarm(self) -> None:
        if self._late is not None:
            self._late.cancel()
            self._late = None

    def _end_idle(self) -> None:
        self._late = None
        if self.cycle is None and not self._in_head:
            self._refused = True
            self.transport.close()

    def _end_late(self) -> None:
        self._late = None
        self._refuse(408, f"the head of this request was not there after {_HEAD_S:g} s; send it at once")

    def _refuse(self, status: int, message: str) -> None:
        """Answer in one sentence, where no answer has begun, and end the connection."""
        self._refused = True
        self._disarm()
        if self.cycle is None or self.cycle.response_complete or not self.cycle.response_started:
            body = f"{HTTPStatus(status).phrase}: {message}\n".encode()
            head = [STATUS_LINE[status], b"content-type: text/plain; charset=utf-8\r\n"]
            head += [b"content-length: %d\r\n" % len(body), b"connection: close\r\n\r\n", body]
            self.transport.write(b"".join(head))
        if self.cycle is not None:
            self.cycle.disconnected = True
            self.cycle.message_event.set()
        self.transport.close()
