"""Receives OTLP as the Collector does, over gRPC and HTTP, and answers when the data is durable."""

from tracekit.receiver.server import Receiver, ReceiverSettings

__all__ = ["Receiver", "ReceiverSettings"]
