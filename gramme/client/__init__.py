"""A client for asyncio, which speaks gRPC with a router: many operations in a message, over one connection.

    async with gramme.client.connect(
        "localhost:8001", region="us-east-1", access_key="any", secret_key="any"
    ) as client:
        await client.put("Music", {"Artist": "Ada", "Song": "Engine", "Plays": 1})

docs/client.md says what it promises. It needs nothing of the server's: neither a node, nor a router, nor RocksDB.
"""

from gramme.client.client import Client, connect
from gramme.client.errors import (
    ClientError,
    ConditionalCheckFailed,
    DeadlineExceeded,
    Disconnected,
    OutcomeUnknown,
    RequestTooLarge,
    ServiceError,
)
from gramme.client.pages import Page, Pages
from gramme.errors import (
    AccessDenied,
    GrammeError,
    IncompleteSignature,
    InternalServerError,
    InvalidSignature,
    LimitExceeded,
    MissingAuthenticationToken,
    ResourceInUse,
    ResourceNotFound,
    Serialization,
    Throttling,
    UnknownOperation,
    UnrecognizedClient,
    ValidationError,
)

__all__ = [
    "AccessDenied",
    "Client",
    "ClientError",
    "ConditionalCheckFailed",
    "DeadlineExceeded",
    "Disconnected",
    "GrammeError",
    "IncompleteSignature",
    "InternalServerError",
    "InvalidSignature",
    "LimitExceeded",
    "MissingAuthenticationToken",
    "OutcomeUnknown",
    "Page",
    "Pages",
    "RequestTooLarge",
    "ResourceInUse",
    "ResourceNotFound",
    "Serialization",
    "ServiceError",
    "Throttling",
    "UnknownOperation",
    "UnrecognizedClient",
    "ValidationError",
    "connect",
]
