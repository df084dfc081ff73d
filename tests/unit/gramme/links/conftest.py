"""Lets `gramme.links` be imported before any test imports grpc, and so keep it quiet."""

import gramme.links  # noqa: F401
