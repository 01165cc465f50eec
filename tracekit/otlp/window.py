"""A window over a byte stream: the part that is being cut into documents."""

from __future__ import annotations

from collections.abc import Callable


class Window:
    """The next bytes of a stream and where they stand in it."""

    def __init__(self, read: Callable[[int], bytes]) -> None:
        self.data = b""
        self.offset = 0
        """Byte offset of the window in the stream."""
        self.is_last = False
        """Whether the stream ends with the window."""
        self._read = read

    def extend(self, size: int) -> None:
        """Makes the window at least `size` bytes long if the stream has them."""
        parts, have = [self.data], len(self.data)
        while have < size and not self.is_last:
            part = self._read(size - have)
            self.is_last = not part
            parts.append(part)
            have += len(part)
        if len(parts) > 1:
            self.data = b"".join(parts)

    def drop(self, size: int) -> None:
        """Moves the window's start over its first `size` bytes."""
        self.data = self.data[size:]
        self.offset += size

    def skip(self, size: int, *, step_bytes: int = 1 << 20) -> None:
        """Moves the window's start by `size` bytes, beyond its end if need be, without keeping them."""
        while size > 0:
            self.extend(min(size, step_bytes))
            if not self.data:
                return
            dropped = min(size, len(self.data))
            self.drop(dropped)
            size -= dropped

    def skip_line(self, *, step_bytes: int = 1 << 20) -> None:
        """Moves the window's start behind the next line end."""
        while self.data:
            end = self.data.find(b"\n")
            self.drop(end + 1 if end >= 0 else len(self.data))
            if end >= 0:
                return
            self.extend(step_bytes)
