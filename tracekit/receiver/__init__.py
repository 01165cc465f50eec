"""Receives OTLP as the Collector does, over gRPC and HTTP, and answers when the data is durable."""

from tracekit.receiver.access import Access, is_loopback
from tracekit.receiver.guard import Guard
from tracekit.receiver.http_server import http_server, listener
from tracekit.receiver.server import Receiver, ReceiverSettings
from tracekit.receiver.tls import Certificate

__all__ = [
    "Access",
    "Certificate",
    "Guard",
    "Receiver",
    "ReceiverSettings",
    "http_server",
    "is_loopback",
    "listener",
]
