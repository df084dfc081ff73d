"""TagResource, UntagResource and ListTagsOfResource. DynamoDB shows a change of tags only after a while."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.conformance.tables import (
    Gsi,
    TableFactory,
    a_table,
    eventually,
    invalid,
    refusal,
    unique_name,
)

if TYPE_CHECKING:
    from types_boto3_dynamodb import DynamoDBClient
    from types_boto3_dynamodb.type_defs import TagTypeDef

INVALID = "One or more parameter values were invalid: "


def arn_of(dynamodb: DynamoDBClient, name: str) -> str:
    return dynamodb.describe_table(TableName=name)["Table"]["TableArn"]


@pytest.fixture
def arn(dynamodb: DynamoDBClient, tables: TableFactory) -> str:
    """The ARN of a table without tags."""
    return arn_of(dynamodb, tables.create())


def some_tags(**tags: str) -> list[TagTypeDef]:
    return [{"Key": key, "Value": value} for key, value in tags.items()]


def tags_are(dynamodb: DynamoDBClient, arn: str, expected: dict[str, str]) -> None:
    def read() -> dict[str, str]:
        tags = dynamodb.list_tags_of_resource(ResourceArn=arn)["Tags"]
        return {tag["Key"]: tag["Value"] for tag in tags}

    eventually(read, expected)


def test_tags_are_put_on_replaced_and_taken_off(dynamodb: DynamoDBClient, arn: str) -> None:
    tags_are(dynamodb, arn, {})

    dynamodb.tag_resource(ResourceArn=arn, Tags=some_tags(env="test", team="a"))
    tags_are(dynamodb, arn, {"env": "test", "team": "a"})
    dynamodb.tag_resource(ResourceArn=arn, Tags=some_tags(env="live", empty=""))
    tags_are(dynamodb, arn, {"env": "live", "team": "a", "empty": ""})
    dynamodb.untag_resource(ResourceArn=arn, TagKeys=["team", "never-there"])
    tags_are(dynamodb, arn, {"env": "live", "empty": ""})


def test_answer_is_an_empty_body(dynamodb: DynamoDBClient, arn: str) -> None:
    tagged: Any = dynamodb.tag_resource(ResourceArn=arn, Tags=some_tags(a="b"))

    assert tagged["ResponseMetadata"]["HTTPHeaders"]["content-length"] == "0"


def test_table_is_created_with_tags(dynamodb: DynamoDBClient, tables: TableFactory) -> None:
    name = tables.create_from(a_table(Tags=some_tags(env="test")))

    tags_are(dynamodb, arn_of(dynamodb, name), {"env": "test"})
    assert "Tags" not in dynamodb.describe_table(TableName=name)["Table"]


def test_letters_of_any_script_will_do(dynamodb: DynamoDBClient, arn: str) -> None:
    dynamodb.tag_resource(ResourceArn=arn, Tags=[{"Key": "ключ", "Value": "a+b-c=d.e_f:g/h@i 表"}])

    tags_are(dynamodb, arn, {"ключ": "a+b-c=d.e_f:g/h@i 表"})


def test_fifty_tags_are_the_most(dynamodb: DynamoDBClient, arn: str) -> None:
    fifty = {f"key{number}": "value" for number in range(50)}
    dynamodb.tag_resource(ResourceArn=arn, Tags=some_tags(**fifty))
    tags_are(dynamodb, arn, fifty)

    message = invalid(dynamodb.tag_resource, ResourceArn=arn, Tags=some_tags(more="value"))

    assert message == "Number of Tags exceed the current limit for the provided ResourceArn"
    assert "NextToken" not in dynamodb.list_tags_of_resource(ResourceArn=arn)


REFUSED = [
    ([{"Key": "aws:a", "Value": ""}], "Tag Key cannot be prefixed with aws:, Key: aws:a"),
    ([{"Key": "", "Value": ""}], "The Tag Key provided is invalid, Key: "),
    ([{"Key": "k" * 129, "Value": ""}], f"The Tag Key provided is invalid, Key: {'k' * 129}"),
    ([{"Key": "k", "Value": "v" * 257}], f"The Tag Value provided is invalid, Value: {'v' * 257}"),
    ([{"Key": "k"}], "The Tag Value provided is invalid, Value: null"),
    ([{}], "The Tag Key provided is invalid, Key: null"),
    ([{"Key": "k#", "Value": ""}], "The Tag Key provided is invalid, Key: k#"),
    ([{"Key": "k", "Value": "100%"}], "The Tag Value provided is invalid, Value: 100%"),
    (
        [{"Key": "k", "Value": "1"}, {"Key": "k", "Value": "2"}],
        "Duplicate Tag Keys provided as input: Duplicate Tag Key found k",
    ),
    (
        [{"Key": f"k{number}", "Value": ""} for number in range(51)],
        "Number of Tags exceed the current limit for the provided ResourceArn",
    ),
]


@pytest.mark.parametrize(("tags", "message"), REFUSED)
def test_tags_are_refused(
    dynamodb: DynamoDBClient, table: str, tags: list[Any], message: str
) -> None:
    arn = arn_of(dynamodb, table)

    assert invalid(dynamodb.tag_resource, ResourceArn=arn, Tags=tags) == message
    assert invalid(dynamodb.create_table, **a_table(Tags=tags)) == message


def test_there_must_be_a_tag(dynamodb: DynamoDBClient, table: str) -> None:
    arn = arn_of(dynamodb, table)

    tagging = invalid(dynamodb.tag_resource, ResourceArn=arn, Tags=[])
    untagging = invalid(dynamodb.untag_resource, ResourceArn=arn, TagKeys=[])

    assert tagging == "Atleast one Tag needs to be provided as Input."
    assert untagging == "Atleast one Tag Key needs to be provided as Input."


def calls(dynamodb: DynamoDBClient, arn: str) -> list[tuple[Any, dict[str, Any]]]:
    return [
        (dynamodb.tag_resource, {"ResourceArn": arn, "Tags": some_tags(a="b")}),
        (dynamodb.untag_resource, {"ResourceArn": arn, "TagKeys": ["a"]}),
        (dynamodb.list_tags_of_resource, {"ResourceArn": arn}),
    ]


def test_what_is_no_arn_is_refused(dynamodb: DynamoDBClient) -> None:
    for call, parameters in calls(dynamodb, "not-an-arn"):
        message = invalid(call, **parameters)

        assert message == f"{INVALID}ARNs must start with 'arn:': not-an-arn"


def test_arn_of_another_service_is_refused(dynamodb: DynamoDBClient) -> None:
    arn = "arn:aws:s3:::bucket"
    for call, parameters in calls(dynamodb, arn):
        message = invalid(call, **parameters)

        assert message == f"{INVALID}Provided Arn is not a DynamoDB resource arn: {arn}"


def test_index_has_no_tags(dynamodb: DynamoDBClient, tables: TableFactory) -> None:
    arn = f"{arn_of(dynamodb, tables.create('pk:S', Gsi('gsi', 'g:S')))}/index/gsi"
    for call, parameters in calls(dynamodb, arn):
        message = invalid(call, **parameters)

        assert message == (
            f"{INVALID}Invalid resource arn provided, only table or stream is accepted. "
            f"Provided resource arn: {arn}"
        )


def test_missing_table_is_named_by_its_arn(dynamodb: DynamoDBClient, table: str) -> None:
    arn = arn_of(dynamodb, table).replace(table, unique_name("missing"))
    for call, parameters in calls(dynamodb, arn):
        code, message = refusal(call, **parameters)

        assert code == "ResourceNotFoundException"
        assert message == f"Requested resource not found: ResourceArn: {arn} not found"


def test_other_accounts_and_regions_are_out_of_reach(dynamodb: DynamoDBClient, table: str) -> None:
    arn = arn_of(dynamodb, table)
    _, _, _, region, account, _ = arn.split(":")
    elsewhere = arn.replace(region, "ap-south-1")
    for call, parameters in calls(dynamodb, arn.replace(account, "123456789012")):
        assert refusal(call, **parameters) == ("AccessDeniedException", "Access is denied")
    for call, parameters in calls(dynamodb, elsewhere):
        message = invalid(call, **parameters)

        assert message == f"Invalid TableArn: Invalid ResourceArn provided as input {elsewhere}"
