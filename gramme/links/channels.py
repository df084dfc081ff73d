"""gRPC's own settings, for both ends. docs/performance.md says which others were tried."""

from __future__ import annotations

import grpc
from grpc import aio

from gramme.links.limits import Limits
from gramme.links.security import Certificate, Tls

Options = list[tuple[str, str | int]]

# What a message adds to its frame: a tag and a length.
ENVELOPE_BYTES_MAX = 16
PIECE_BYTES_MAX = 1 << 20


def channel(address: str, tls: Tls | None, limits: Limits) -> aio.Channel:
    """A channel of its own: one connection, nothing shared with and nothing remembered from another channel."""
    options = _options_of_dialler(limits)
    if tls is None:
        return aio.insecure_channel(address, options)
    if tls.name:
        options.append(("grpc.ssl_target_name_override", tls.name))
    credentials = grpc.ssl_channel_credentials(tls.authority, tls.key, tls.certificate)
    return aio.secure_channel(address, credentials, options)


def client_channel(address: str, authority: bytes | None, limits: Limits) -> aio.Channel:
    """To a server that shows a certificate signed by `authority` and asks for none; without TLS if that is None."""
    options = _options_of_dialler(limits)
    if authority is None:
        return aio.insecure_channel(address, options)
    return aio.secure_channel(address, grpc.ssl_channel_credentials(authority), options)


def server(limits: Limits, connections_max: int | None = None) -> aio.Server:
    """A further connection than `connections_max`, for each address that a host's name has, is closed at once."""
    bound: Options = []
    if connections_max is not None:
        bound.append(("grpc.max_allowed_incoming_connections", connections_max))
    return aio.server(
        options=[
            *bound,
            *_options_of_both(limits),
            # Else a second process could listen on the same port, and each would get some of the connections.
            ("grpc.so_reuseport", 0),
            ("grpc.max_concurrent_streams", limits.streams_per_connection_max),
            ("grpc.server_handshake_timeout_ms", _ms(limits.handshake_seconds)),
            ("grpc.max_connection_idle_ms", _ms(limits.idle_connection_seconds)),
            # Pings up to four times as often as ours are taken.
            (
                "grpc.http2.min_recv_ping_interval_without_data_ms",
                _ms(limits.ping_every_seconds / 4),
            ),
        ]
    )


def bind(server: aio.Server, address: str, tls: Tls | None) -> int:
    """The port that was bound. Raises RuntimeError."""
    if tls is None:
        return server.add_insecure_port(address)
    pair = (tls.key, tls.certificate)
    credentials = grpc.ssl_server_credentials([pair], tls.authority, require_client_auth=True)
    return server.add_secure_port(address, credentials)


def bind_for_clients(server: aio.Server, address: str, certificate: Certificate | None) -> int:
    """The port that was bound. Raises RuntimeError."""
    if certificate is None:
        return server.add_insecure_port(address)
    pair = (certificate.key, certificate.certificate)
    return server.add_secure_port(address, grpc.ssl_server_credentials([pair]))


def _options_of_dialler(limits: Limits) -> Options:
    return [
        *_options_of_both(limits),
        ("grpc.use_local_subchannel_pool", 1),
        # We try again ourselves, and neither a proxy for the web nor a record in DNS has a say in it.
        ("grpc.enable_retries", 0),
        ("grpc.enable_http_proxy", 0),
        ("grpc.service_config_disable_resolution", 1),
    ]


def _options_of_both(limits: Limits) -> Options:
    message_bytes_max = limits.frame_bytes_max + ENVELOPE_BYTES_MAX
    return [
        ("grpc.max_send_message_length", message_bytes_max),
        ("grpc.max_receive_message_length", message_bytes_max),
        ("grpc.keepalive_time_ms", _ms(limits.ping_every_seconds)),
        ("grpc.keepalive_timeout_ms", _ms(limits.ping_answer_seconds)),
        # A large frame goes in fewer pieces; small ones do not care.
        ("grpc.http2.max_frame_size", PIECE_BYTES_MAX),
        # Silence is no reason to stop asking.
        ("grpc.http2.max_pings_without_data", 0),
    ]


def _ms(seconds: float) -> int:
    return round(seconds * 1000)
