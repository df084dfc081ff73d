"""Every operation there is, by the name in X-Amz-Target."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from gramme.router.operations.batch_get_item import batch_get_item
from gramme.router.operations.batch_write_item import batch_write_item
from gramme.router.operations.context import Operation
from gramme.router.operations.create_table import create_table
from gramme.router.operations.delete_item import delete_item
from gramme.router.operations.delete_table import delete_table
from gramme.router.operations.describe_table import describe_table
from gramme.router.operations.get_item import get_item
from gramme.router.operations.list_tables import list_tables
from gramme.router.operations.put_item import put_item
from gramme.router.operations.query import query
from gramme.router.operations.scan import scan
from gramme.router.operations.update_item import update_item

OPERATIONS: Final[Mapping[str, Operation]] = {
    "BatchGetItem": batch_get_item,
    "BatchWriteItem": batch_write_item,
    "CreateTable": create_table,
    "DeleteItem": delete_item,
    "DeleteTable": delete_table,
    "DescribeTable": describe_table,
    "GetItem": get_item,
    "ListTables": list_tables,
    "PutItem": put_item,
    "Query": query,
    "Scan": scan,
    "UpdateItem": update_item,
}
