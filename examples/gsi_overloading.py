"""Overloading an index: one global index that answers several questions.

The index's keys are named for what they do, `gsi1pk` and `gsi1sk`, and each kind of item fills them with what *it* is looked
up by. A prefix keeps the kinds apart. A table may have 20 global indexes; with overloading, few designs need more than two.
"""

from __future__ import annotations

from boto3.dynamodb.conditions import ConditionBase, Key

from tables import Item, Table, eventually, temporary_table


def employee(
    id: str, name: str, email: str, job: tuple[str, str], desk: tuple[str, str]
) -> list[Item]:
    """Everything about one employee is under one partition key; each item is indexed by something else."""
    pk = f"EMPLOYEE#{id}"
    title, since = job
    office, place = desk
    return [
        {"pk": pk, "sk": "PROFILE", "name": name, "gsi1pk": f"EMAIL#{email}", "gsi1sk": pk},
        {"pk": pk, "sk": "JOB", "name": name, "gsi1pk": f"JOB#{title}", "gsi1sk": since},
        {"pk": pk, "sk": "DESK", "name": name, "gsi1pk": f"OFFICE#{office}", "gsi1sk": place},
    ]


STAFF = [
    *employee("1", "Ada", "ada@example.com", ("engineer", "2019-04-01"), ("Liège", "2-014")),
    *employee("2", "Bob", "bob@example.com", ("engineer", "2015-09-15"), ("Liège", "1-002")),
    *employee("3", "Cleo", "cleo@example.com", ("director", "2021-01-01"), ("Liège", "2-001")),
    *employee("4", "Dora", "dora@example.com", ("engineer", "2024-02-01"), ("Paris", "2-020")),
]


QUESTIONS = [
    ("whose address is ada@example.com?", Key("gsi1pk").eq("EMAIL#ada@example.com")),
    ("who are the engineers, longest first?", Key("gsi1pk").eq("JOB#engineer")),
    (
        "who became an engineer before 2020?",
        Key("gsi1pk").eq("JOB#engineer") & Key("gsi1sk").lt("2020"),
    ),
    (
        "who sits on floor 2 in Liège?",
        Key("gsi1pk").eq("OFFICE#Liège") & Key("gsi1sk").begins_with("2-"),
    ),
]
ANSWERS = [["Ada"], ["Bob", "Ada", "Dora"], ["Bob", "Ada"], ["Cleo", "Ada"]]


def names(table: Table, condition: ConditionBase) -> list[str]:
    """The names of those whom the index finds, in the order of `gsi1sk`."""
    found = table.query(IndexName="gsi1", KeyConditionExpression=condition)["Items"]
    return [item["name"] for item in found]


def main() -> None:
    indexes = {"gsi1": "gsi1pk:S gsi1sk:S"}
    with temporary_table("gsi-overloading", "pk:S sk:S", indexes) as table:
        with table.batch_writer() as batch:
            for item in STAFF:
                batch.put_item(Item=item)

        print("\nThe table itself answers what belongs together:")
        employee_1 = Key("pk").eq("EMPLOYEE#1")
        ada = table.query(KeyConditionExpression=employee_1, ConsistentRead=True)["Items"]
        print(f"  everything about Ada: {[item['sk'] for item in ada]}")
        assert [item["sk"] for item in ada] == ["DESK", "JOB", "PROFILE"]

        print("One index answers the rest:")
        eventually(
            lambda: table.scan(IndexName="gsi1", Select="COUNT"),
            lambda page: page["Count"] == len(STAFF),
        )
        for (question, condition), expected in zip(QUESTIONS, ANSWERS, strict=True):
            answer = names(table, condition)
            print(f"  {question:38} {', '.join(answer)}")
            assert answer == expected


if __name__ == "__main__":
    main()
