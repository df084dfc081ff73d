"""The AWS CLI as it comes: shorthand and JSON parameters, waiters, pages it joins by itself, and its exit codes."""

from __future__ import annotations

import base64
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.clients.installed import Programs, installed
from tests.conformance.tables import Gsi, TableFactory, eventually
from tests.support.server import Server

# What the first version of the CLI ends with when the service refused; the second one ends with 254.
REFUSED = 255

Aws = Callable[..., Any]


@pytest.fixture
def command(endpoint: str) -> list[str]:
    program = installed("aws-cli") / "bin" / "aws"
    return [str(program), "--endpoint-url", endpoint, "--output", "json", "dynamodb"]


@pytest.fixture
def aws(command: list[str], programs: Programs) -> Aws:
    """Runs one command of `aws dynamodb`, and returns the JSON it printed, or None."""

    def call(*words: str, **parameters: object) -> Any:
        printed = programs.run(*command, *words, *_options(parameters))
        return json.loads(printed) if printed.strip() else None

    return call


def _options(parameters: dict[str, object]) -> list[str]:
    """From `table_name="t"`: `--table-name t`. What is no text is written as JSON, a list of texts as words."""
    words: list[str] = []
    for name, value in parameters.items():
        words.append("--" + name.replace("_", "-"))
        if isinstance(value, list):
            words += value
        else:
            words.append(value if isinstance(value, str) else json.dumps(value))
    return words


def test_a_table_lives_from_create_to_wait_not_exists(aws: Aws, new_name: str) -> None:
    made = aws(
        "create-table",
        table_name=new_name,
        attribute_definitions=[
            "AttributeName=Artist,AttributeType=S",
            "AttributeName=Year,AttributeType=N",
        ],
        key_schema=["AttributeName=Artist,KeyType=HASH", "AttributeName=Year,KeyType=RANGE"],
        provisioned_throughput="ReadCapacityUnits=5,WriteCapacityUnits=6",
    )
    assert made["TableDescription"]["ProvisionedThroughput"]["WriteCapacityUnits"] == 6

    aws("wait", "table-exists", table_name=new_name)
    assert aws("describe-table", table_name=new_name)["Table"]["TableStatus"] == "ACTIVE"

    aws("delete-table", table_name=new_name)
    aws("wait", "table-not-exists", table_name=new_name)
    assert new_name not in aws("list-tables")["TableNames"]


def test_an_item_goes_in_changes_and_comes_out(aws: Aws, tables: TableFactory) -> None:
    name = tables.create("Artist:S Song:S")
    key = {"Artist": {"S": "Ada"}, "Song": {"S": "Engine"}}

    aws("put-item", table_name=name, item={**key, "Plays": {"N": "1"}, "Tags": {"SS": ["new"]}})
    changed = aws(
        "update-item",
        table_name=name,
        key=key,
        update_expression="SET Plays = Plays + :one ADD Tags :tags",
        expression_attribute_values={":one": {"N": "1"}, ":tags": {"SS": ["loud"]}},
        return_values="UPDATED_NEW",
    )
    read = aws("get-item", "--consistent-read", table_name=name, key=key)["Item"]

    assert changed["Attributes"]["Plays"] == {"N": "2"}
    assert sorted(read["Tags"]["SS"]) == ["loud", "new"]
    assert aws("delete-item", table_name=name, key=key) is None
    assert aws("get-item", table_name=name, key=key) is None


def test_bytes_are_written_raw_and_read_as_base64(aws: Aws, tables: TableFactory) -> None:
    name = tables.create("pk:S")

    # The first version of the CLI encodes what it is given; the second one wants it encoded.
    aws("put-item", table_name=name, item={"pk": {"S": "a"}, "blob": {"B": "Grammé"}})

    blob = aws("get-item", table_name=name, key={"pk": {"S": "a"}})["Item"]["blob"]["B"]
    assert base64.b64decode(blob).decode() == "Grammé"


def test_pages_are_joined_and_can_be_taken_one_by_one(aws: Aws, tables: TableFactory) -> None:
    name = tables.create("pk:S sk:N")
    puts = [{"PutRequest": {"Item": {"pk": {"S": "p"}, "sk": {"N": str(n)}}}} for n in range(25)]
    assert aws("batch-write-item", request_items={name: puts})["UnprocessedItems"] == {}
    query = {
        "table_name": name,
        "key_condition_expression": "pk = :pk",
        "expression_attribute_values": {":pk": {"S": "p"}},
    }

    joined = aws("query", page_size="4", **query)
    first = aws("query", max_items="10", **query)
    second = aws("query", max_items="100", starting_token=first["NextToken"], **query)

    everything = [str(n) for n in range(25)]
    assert [item["sk"]["N"] for item in joined["Items"]] == everything
    assert [item["sk"]["N"] for item in first["Items"] + second["Items"]] == everything
    assert "NextToken" not in second
    assert aws("scan", table_name=name, page_size="3")["Count"] == 25


def test_tables_are_listed_across_pages(aws: Aws, tables: TableFactory) -> None:
    names = {tables.create("pk:S") for _ in range(3)}

    assert names <= set(aws("list-tables", page_size="1")["TableNames"])


def test_an_index_is_queried_with_a_filter_and_a_projection(aws: Aws, tables: TableFactory) -> None:
    name = tables.create("pk:S", Gsi("by-colour", "colour:S n:N"))
    for n in range(4):
        item = {"pk": {"S": f"p{n}"}, "colour": {"S": "red"}, "n": {"N": str(n)}}
        aws("put-item", table_name=name, item=item)

    def red() -> list[str]:
        found = aws(
            "query",
            table_name=name,
            index_name="by-colour",
            key_condition_expression="colour = :colour AND n >= :least",
            filter_expression="pk <> :not",
            projection_expression="#key",
            expression_attribute_names={"#key": "pk"},
            expression_attribute_values={
                ":colour": {"S": "red"},
                ":least": {"N": "1"},
                ":not": {"S": "p2"},
            },
        )
        return [item["pk"]["S"] for item in found["Items"]]

    eventually(red, ["p1", "p3"])


def test_tags_are_set_and_read(aws: Aws, tables: TableFactory) -> None:
    name = tables.create("pk:S")
    arn = aws("describe-table", table_name=name)["Table"]["TableArn"]

    assert aws("tag-resource", resource_arn=arn, tags=["Key=owner,Value=ada"]) is None

    tags = aws("list-tags-of-resource", resource_arn=arn)["Tags"]
    assert tags == [{"Key": "owner", "Value": "ada"}]


def test_a_refusal_is_shown_in_words(
    command: list[str], programs: Programs, tables: TableFactory
) -> None:
    name = tables.create("pk:S")
    words = ["put-item", "--table-name", name, "--item", '{"pk": {"S": "a"}}']
    condition = ["--condition-expression", "attribute_not_exists(pk)"]
    programs.run(*command, *words, *condition)

    refused = programs.attempt(*command, *words, *condition)

    assert refused.returncode == REFUSED
    assert (
        "(ConditionalCheckFailedException) when calling the PutItem operation: "
        "The conditional request failed" in refused.stderr
    )


def test_a_wrong_secret_is_refused(
    command: list[str], programs: Programs, request: pytest.FixtureRequest
) -> None:
    if request.config.getoption("--endpoint") is not None:
        pytest.skip("the given server's keys are its own")

    refused = programs.attempt(*command, "list-tables", AWS_SECRET_ACCESS_KEY="guessed")

    assert "(InvalidSignatureException) when calling the ListTables operation" in refused.stderr


def test_the_first_command_that_a_server_prints_works_as_it_is(tmp_path: Path) -> None:
    bare = {"PATH": f"{installed('aws-cli') / 'bin'}:{os.defpath}", "HOME": str(tmp_path)}
    with Server(None) as server:
        greeting = server.output

        printed = Programs(bare).run("sh", "-c", greeting.split("\n\n")[1])

    assert json.loads(printed) == {"TableNames": []}
