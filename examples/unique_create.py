"""Creating something once: of all who want a name, one gets it.

PutItem replaces what is there. With `attribute_not_exists(key)` as its condition it creates or fails: the condition and the
write are one step, so there is no moment between looking and writing in which another could slip in.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from boto3.dynamodb.conditions import Attr, ConditionBase

from tables import Table, temporary_table

CLAIMANTS = 10


class Taken(Exception):
    """Somebody else has the name."""


def claim(table: Table, name: str, owner: str, condition: ConditionBase | None = None) -> None:
    """Register a name for its owner. Raises Taken, which says who has it."""
    try:
        table.put_item(
            Item={"name": name, "owner": owner},
            # An item that exists has its key attributes: to ask for one of them is to ask for the item.
            ConditionExpression=condition or Attr("name").not_exists(),
            # The refusal brings along the item that it met. That saves a read, and the read a race.
            ReturnValuesOnConditionCheckFailure="ALL_OLD",
        )
    except table.meta.client.exceptions.ConditionalCheckFailedException as refusal:
        raise Taken(refusal.response["Item"]["owner"]["S"]) from None


def claim_again(table: Table, name: str, owner: str) -> None:
    """As `claim`, for callers that may repeat themselves: their own claim is no obstacle.

    A client whose connection broke does not know whether its claim arrived, and so sends it again.
    """
    claim(table, name, owner, Attr("name").not_exists() | Attr("owner").eq(owner))


def main() -> None:
    with temporary_table("unique-create", "name:S") as table:
        print(f"\n{CLAIMANTS} people claim the name 'dynamo' at the same moment:")

        def attempt(owner: str) -> str | None:
            try:
                claim(table, "dynamo", owner)
            except Taken as taken:
                return str(taken)
            return None

        people = [f"person {number}" for number in range(CLAIMANTS)]
        with ThreadPoolExecutor(CLAIMANTS) as threads:
            told = dict(zip(people, threads.map(attempt, people), strict=True))
        winners = [person for person, taken_by in told.items() if taken_by is None]
        print(f"  {len(winners)} got it; {CLAIMANTS - 1} were told who has it")
        assert len(winners) == 1
        assert {taken_by for taken_by in told.values() if taken_by} == set(winners)

        print("\nThe winner never saw the answer, and claims again:")
        claim_again(table, "dynamo", winners[0])
        print("  fine: it is theirs")

        print("Another does the same:")
        try:
            claim_again(table, "dynamo", "somebody else")
        except Taken as taken:
            print("  refused: it is taken")
            assert str(taken) == winners[0]
        else:
            raise AssertionError("the name changed hands")
        owner = table.get_item(Key={"name": "dynamo"}, ConsistentRead=True)["Item"]["owner"]
        assert owner == winners[0]


if __name__ == "__main__":
    main()
