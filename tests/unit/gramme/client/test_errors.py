"""Errors as they come over the wire, and as they are raised."""

from __future__ import annotations

from decimal import Decimal

import orjson
import pytest

from gramme import errors
from gramme.client.errors import ConditionalCheckFailed, RequestTooLarge, ServiceError, error_of
from gramme.errors import GrammeError
from gramme.router.refusals import json_of


@pytest.mark.parametrize(
    "raised",
    [
        errors.ValidationError("one"),
        errors.Serialization("two"),
        errors.UnknownOperation(),
        errors.MissingAuthenticationToken(),
        errors.InvalidSignature("Signature expired"),
        errors.UnrecognizedClient("three"),
        errors.ResourceNotFound(),
        errors.ResourceInUse("four"),
        errors.LimitExceeded("five"),
        errors.Throttling("six"),
        errors.InternalServerError(),
        errors.AccessDenied(),
    ],
    ids=lambda error: type(error).__name__,
)
def test_what_the_router_raises_is_raised_again(raised: GrammeError) -> None:
    error = error_of(raised.status, json_of(raised))

    assert type(error) is type(raised)
    assert isinstance(error, GrammeError)
    assert error.message == raised.message


def test_a_failed_condition_has_the_item_it_met() -> None:
    error = error_of(400, json_of(errors.ConditionalCheckFailed(b'{"n":{"N":"1"}}')))
    unseen = error_of(400, json_of(errors.ConditionalCheckFailed()))

    assert isinstance(error, ConditionalCheckFailed)
    assert isinstance(error, errors.ConditionalCheckFailed)
    assert error.current == {"n": Decimal(1)}
    assert isinstance(unseen, ConditionalCheckFailed)
    assert unseen.current is None


def test_an_error_without_a_class_keeps_all_it_said() -> None:
    said = {"__type": "com.amazonaws.dynamodb.v20120810#Exotic", "message": "no", "Reasons": [1]}

    error = error_of(400, orjson.dumps(said))

    assert isinstance(error, ServiceError)
    assert (error.name, error.message, error.details) == ("Exotic", "no", said)
    assert str(error) == "Exotic: no"


@pytest.mark.parametrize("body", [b"", b"<html>", b"[]"])
def test_what_says_nothing_is_an_error_all_the_same(body: bytes) -> None:
    assert isinstance(error_of(503, body), ServiceError)


def test_a_request_that_is_too_large_has_no_words_from_the_router() -> None:
    assert isinstance(error_of(413, b""), RequestTooLarge)
