"""ClickHouse's SQL behind its HTTP interface on loopback: `chdb` answers, in a process of its own.

Labelled as such: it is the engine of ClickHouse without its server, so users, settings of a profile and the way in
which a server breaks off are not in it.

    python -m tests.unit.warehouse.clickhouse_server FOLDER < statements.sql

Statements are read a line each; then the port is printed. Who sends another password than `secret` is refused.
"""

from __future__ import annotations

import sys
from http.server import BaseHTTPRequestHandler, HTTPServer

from chdb import session


class Handler(BaseHTTPRequestHandler):
    """Runs the statement in the body of a request."""

    def do_POST(self) -> None:
        statement = self.rfile.read(int(self.headers["Content-Length"])).decode()
        if self.headers.get("X-ClickHouse-Key") != "secret":
            return self.answer(403, b"Code: 516. DB::Exception: Authentication failed")
        try:
            found = running.query(statement, "TabSeparated").bytes()
        except RuntimeError as error:
            return self.answer(500, str(error).encode())
        return self.answer(200, found)

    def answer(self, status: int, content: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


running = session.Session(sys.argv[1])
for line in sys.stdin:
    running.query(line)
server = HTTPServer(("127.0.0.1", 0), Handler)
print(server.server_port, flush=True)
server.serve_forever()
