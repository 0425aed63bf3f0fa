"""A typed library for Leasehold, a reservation service for clouds: `Client(session).leases.list()`."""

from leasehold_client.client import Client
from leasehold_client.errors import ApiError, ClientError, NotFoundError, UnreachableError

__all__ = ["ApiError", "Client", "ClientError", "NotFoundError", "UnreachableError"]
