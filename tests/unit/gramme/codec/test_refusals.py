"""Errors travel: the same class with the same words comes out at the other end."""

from __future__ import annotations

import inspect

import pytest

from gramme import errors
from gramme.codec.refusals import Refusal, error_of, refusal_of
from gramme.errors import (
    ConditionalCheckFailed,
    GrammeError,
    InternalServerError,
    InvalidSignature,
    MissingAuthenticationToken,
    NotLeader,
    OutcomeUnknown,
    SeamError,
    Serialization,
    StalePartition,
    TableChanged,
    Unavailable,
    ValidationError,
)

CLASSES = [
    found
    for found in vars(errors).values()
    if inspect.isclass(found)
    and issubclass(found, GrammeError | SeamError)
    and found not in (GrammeError, SeamError)
]
# Those that are made of something else than their message.
EXAMPLES: dict[type[Exception], list[Exception]] = {
    ConditionalCheckFailed: [ConditionalCheckFailed(), ConditionalCheckFailed(b"{}")],
    MissingAuthenticationToken: [MissingAuthenticationToken()],
    NotLeader: [NotLeader(), NotLeader(3, 7)],
    StalePartition: [StalePartition(8)],
}


@pytest.mark.parametrize("kind", CLASSES, ids=lambda kind: kind.__name__)
def test_every_error_arrives_as_it_is(kind: type[Exception]) -> None:
    for error in EXAMPLES.get(kind) or [kind("in so many words: é")]:
        received = error_of(refusal_of(error))

        assert type(received) is kind
        assert str(received) == str(error)
        assert vars(received) == vars(error)


@pytest.mark.parametrize(
    "error",
    [
        Serialization(),
        InvalidSignature(),
        ValidationError(""),
        TableChanged("again"),
        Unavailable(),
        OutcomeUnknown(),
    ],
    ids=repr,
)
def test_messages_that_are_usual_or_missing_arrive(error: GrammeError | SeamError) -> None:
    received = error_of(refusal_of(error))

    assert (type(received), str(received)) == (type(error), str(error))
    assert vars(received) == vars(error)


class Unheard(ValidationError):
    """One that the receiver has not."""


@pytest.mark.parametrize("error", [Unheard("secret"), KeyError("secret")], ids=repr)
def test_what_the_other_side_does_not_know_is_an_internal_error_without_words(
    error: Exception,
) -> None:
    received = error_of(refusal_of(error))

    assert type(received) is InternalServerError
    assert "secret" not in str(received)


@pytest.mark.parametrize(
    "name", ["Unheard", "", "Exception", "GrammeError", "SeamError", "ClassVar"]
)
def test_an_unknown_name_is_an_internal_error(name: str) -> None:
    assert type(error_of(Refusal(name, "a"))) is InternalServerError
