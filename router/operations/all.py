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
from gramme.router.operations.describe_continuous_backups import describe_continuous_backups
from gramme.router.operations.describe_contributor_insights import describe_contributor_insights
from gramme.router.operations.describe_endpoints import describe_endpoints
from gramme.router.operations.describe_kinesis_streaming_destination import (
    describe_kinesis_streaming_destination,
)
from gramme.router.operations.describe_limits import describe_limits
from gramme.router.operations.describe_table import describe_table
from gramme.router.operations.describe_table_replica_auto_scaling import (
    describe_table_replica_auto_scaling,
)
from gramme.router.operations.describe_time_to_live import describe_time_to_live
from gramme.router.operations.get_item import get_item
from gramme.router.operations.get_resource_policy import get_resource_policy
from gramme.router.operations.list_contributor_insights import list_contributor_insights
from gramme.router.operations.list_tables import list_tables
from gramme.router.operations.list_tags_of_resource import list_tags_of_resource
from gramme.router.operations.put_item import put_item
from gramme.router.operations.query import query
from gramme.router.operations.scan import scan
from gramme.router.operations.tag_resource import tag_resource
from gramme.router.operations.untag_resource import untag_resource
from gramme.router.operations.update_item import update_item
from gramme.router.operations.update_table import update_table

OPERATIONS: Final[Mapping[str, Operation]] = {
    "BatchGetItem": batch_get_item,
    "BatchWriteItem": batch_write_item,
    "CreateTable": create_table,
    "DeleteItem": delete_item,
    "DeleteTable": delete_table,
    "DescribeContinuousBackups": describe_continuous_backups,
    "DescribeContributorInsights": describe_contributor_insights,
    "DescribeEndpoints": describe_endpoints,
    "DescribeKinesisStreamingDestination": describe_kinesis_streaming_destination,
    "DescribeLimits": describe_limits,
    "DescribeTable": describe_table,
    "DescribeTableReplicaAutoScaling": describe_table_replica_auto_scaling,
    "DescribeTimeToLive": describe_time_to_live,
    "GetItem": get_item,
    "GetResourcePolicy": get_resource_policy,
    "ListContributorInsights": list_contributor_insights,
    "ListTables": list_tables,
    "ListTagsOfResource": list_tags_of_resource,
    "PutItem": put_item,
    "Query": query,
    "Scan": scan,
    "TagResource": tag_resource,
    "UntagResource": untag_resource,
    "UpdateItem": update_item,
    "UpdateTable": update_table,
}
