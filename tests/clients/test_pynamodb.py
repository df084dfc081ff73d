"""PynamoDB: models with indexes, conditional writes, update actions, batches, and its version attribute."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

import boto3
import pytest
from pynamodb.attributes import (
    BinaryAttribute,
    BooleanAttribute,
    JSONAttribute,
    ListAttribute,
    MapAttribute,
    NumberAttribute,
    NumberSetAttribute,
    UnicodeAttribute,
    UnicodeSetAttribute,
    UTCDateTimeAttribute,
    VersionAttribute,
)
from pynamodb.exceptions import DeleteError, DoesNotExist, PutError, UpdateError
from pynamodb.indexes import AllProjection, GlobalSecondaryIndex, IncludeProjection
from pynamodb.models import Model

from tests.conformance.tables import eventually, unique_name


class ByForum(GlobalSecondaryIndex["Thread"]):
    class Meta:
        index_name = "by-forum"
        projection = AllProjection()

    forum = UnicodeAttribute(hash_key=True)
    views = NumberAttribute(range_key=True)


class ByAuthor(GlobalSecondaryIndex["Thread"]):
    class Meta:
        index_name = "by-author"
        projection = IncludeProjection(["views"])

    author = UnicodeAttribute(hash_key=True)


class Thread(Model):
    class Meta:
        table_name = unique_name("pynamodb-thread")
        billing_mode = "PAY_PER_REQUEST"

    topic = UnicodeAttribute(hash_key=True)
    number = NumberAttribute(range_key=True)
    forum = UnicodeAttribute(null=True)
    author = UnicodeAttribute(null=True)
    views = NumberAttribute(default=0)
    tags = UnicodeSetAttribute(null=True)
    notes: ListAttribute[str] = ListAttribute(null=True)
    by_forum = ByForum()
    by_author = ByAuthor()


class Place(MapAttribute[str, object]):
    city = UnicodeAttribute()
    zip_code = NumberAttribute(attr_name="zip")


class Machine(Model):
    """One attribute of every kind that PynamoDB turns into something of its own."""

    class Meta:
        table_name = unique_name("pynamodb-machine")
        read_capacity_units = 2
        write_capacity_units = 3

    name = UnicodeAttribute(hash_key=True)
    power_kw = NumberAttribute(null=True)
    running = BooleanAttribute(default=False)
    photo = BinaryAttribute(null=True, legacy_encoding=False)
    ratings = NumberSetAttribute(null=True)
    settings = JSONAttribute(null=True)
    built = UTCDateTimeAttribute(null=True)
    place = Place(null=True)
    version = VersionAttribute()


@pytest.fixture(scope="module", autouse=True)
def tables_of_the_models(session: boto3.Session, endpoint: str) -> Iterator[None]:
    keys = session.get_credentials()
    assert keys is not None
    for model in (Thread, Machine):
        meta: dict[str, object] = {
            "host": endpoint,
            "region": session.region_name,
            "aws_access_key_id": keys.access_key,
            "aws_secret_access_key": keys.secret_key,
            "aws_session_token": keys.token,
        }
        for name, value in meta.items():
            setattr(model.Meta, name, value)
        model.create_table(wait=True)
    yield
    for model in (Thread, Machine):
        model.delete_table(wait=True)


def test_a_table_is_made_from_its_model() -> None:
    assert Thread.exists()

    described = Machine.describe_table()

    assert described["TableStatus"] == "ACTIVE"
    assert described["ProvisionedThroughput"]["WriteCapacityUnits"] == 3


def test_every_kind_of_attribute_comes_back_as_it_went() -> None:
    built = datetime(1871, 7, 17, 12, tzinfo=UTC)
    machine = Machine(
        "dynamo",
        power_kw=2.5,
        running=True,
        photo=b"\x00\xff",
        ratings={1, 2.5},
        settings={"poles": [8, None]},
        built=built,
        place=Place(city="Liège", zip_code=4000),
    )

    machine.save()

    sent, read = machine.attribute_values, Machine.get("dynamo", consistent_read=True)
    place = read.attribute_values.pop("place")
    assert (place.city, place.zip_code) == ("Liège", 4000)
    assert read.attribute_values == {name: sent[name] for name in sent if name != "place"}


def test_what_is_not_there_does_not_exist() -> None:
    with pytest.raises(DoesNotExist):
        Machine.get("perpetual")


def test_a_stale_version_is_refused() -> None:
    Machine("versioned").save()
    mine, theirs = Machine.get("versioned"), Machine.get("versioned")
    theirs.running = True
    theirs.save()

    with pytest.raises(PutError) as saved:
        mine.save()
    with pytest.raises(UpdateError) as updated:
        mine.update(actions=[Machine.power_kw.set(1)])
    with pytest.raises(DeleteError) as deleted:
        mine.delete()

    causes = {failure.value.cause_response_code for failure in (saved, updated, deleted)}
    assert causes == {"ConditionalCheckFailedException"}
    assert Machine.get("versioned").version == 2


def test_a_conditional_save_meets_its_condition_or_fails() -> None:
    Thread("condition", 1, views=5).save(Thread.topic.does_not_exist())

    with pytest.raises(PutError, match="The conditional request failed"):
        Thread("condition", 1).save(Thread.topic.does_not_exist())
    with pytest.raises(DeleteError):
        Thread("condition", 1).delete(Thread.views > 5)
    Thread("condition", 1).delete((Thread.views == 5) & Thread.tags.does_not_exist())

    assert Thread.count("condition") == 0


def test_update_actions_change_the_item_and_the_model() -> None:
    thread = Thread("actions", 1, views=1, tags={"old", "kept"}, notes=["b"])
    thread.save()

    thread.update(
        actions=[
            Thread.views.set(Thread.views + 2),
            Thread.notes.set(Thread.notes.prepend(["a"])),
            Thread.author.set(Thread.author | "ada"),
            Thread.tags.delete({"old"}),
        ],
        condition=Thread.views.between(1, 2) & Thread.tags.contains("old"),
    )
    thread.update(actions=[Thread.views.add(10), Thread.notes[1].remove(), Thread.forum.remove()])

    assert (thread.views, thread.notes, thread.author) == (13, ["a"], "ada")
    read = Thread.get("actions", 1, consistent_read=True)
    assert read.attribute_values == thread.attribute_values
    assert read.tags == {"kept"}


def test_batches_write_read_and_delete_more_than_one_request_takes() -> None:
    numbers = range(60)
    with Thread.batch_write() as batch:
        for number in numbers:
            batch.save(Thread("batch", number))

    keys = [("batch", number) for number in (*numbers, 999)]
    assert sorted(thread.number for thread in Thread.batch_get(keys)) == list(numbers)

    with Thread.batch_write() as batch:
        for number in numbers:
            batch.delete(Thread("batch", number))
    assert Thread.count("batch") == 0


def test_a_query_pages_limits_and_goes_on() -> None:
    with Thread.batch_write() as batch:
        for number in range(10):
            batch.save(Thread("pages", number, views=number % 2))

    first = Thread.query("pages", Thread.number > 1, limit=3)
    seen = [thread.number for thread in first]
    rest = Thread.query("pages", Thread.number > 1, last_evaluated_key=first.last_evaluated_key)
    odd = Thread.query("pages", filter_condition=Thread.views == 1, page_size=2)
    backwards = Thread.query("pages", scan_index_forward=False, limit=2)

    assert seen + [thread.number for thread in rest] == list(range(2, 10))
    assert [thread.number for thread in odd] == [1, 3, 5, 7, 9]
    assert [thread.number for thread in backwards] == [9, 8]


def test_a_scan_filters_and_goes_by_segments() -> None:
    with Thread.batch_write() as batch:
        for number in range(8):
            batch.save(Thread(f"scan-{number}", number, author="scanner"))

    by_scanner = Thread.author == "scanner"
    found = sorted(
        thread.number
        for segment in range(4)
        for thread in Thread.scan(by_scanner, segment=segment, total_segments=4, page_size=3)
    )

    assert found == list(range(8))


def test_indexes_are_queried_as_attributes_of_the_model() -> None:
    for number, views in enumerate((30, 10, 20)):
        Thread("index", number, forum="engines", author="zénobe", views=views).save()
    Thread("index", 9, views=99).save()

    def views_in_the_forum() -> list[float]:
        return [thread.views for thread in Thread.by_forum.query("engines", ByForum.views > 10)]

    eventually(views_in_the_forum, [20, 30])
    eventually(lambda: Thread.by_author.count("zénobe"), 3)
    assert {thread.views for thread in Thread.by_author.scan()} >= {10, 20, 30}
