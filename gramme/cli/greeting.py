"""What a person reads once there is something to talk to."""

from __future__ import annotations

import shlex


def greet(
    endpoint: str, kept: str, credentials: str, gateway: str = "", *, principals: bool = False
) -> None:
    """`principals` tells that `kept` is the directory of a cluster that knows who may ask."""
    keys = "AWS_ACCESS_KEY_ID=any AWS_SECRET_ACCESS_KEY=any"
    if credentials:
        keys = f"AWS_SHARED_CREDENTIALS_FILE={credentials} AWS_PROFILE=..."
    first = ""
    if principals:
        keys = "AWS_PROFILE=NAME"
        add = f"gramme admin principals add NAME --cluster {shlex.quote(kept)}"
        first = f"It answers who has a key of the cluster:\n\n  {add} >> ~/.aws/credentials\n\n"
    for_client = f"For gramme.client: {gateway}\n\n" if gateway else ""
    print(
        f"Gramme is listening on {endpoint}, data {kept}. {first}A first command:\n\n"
        # The first version of the AWS CLI does not look for a region in AWS_REGION, the second one does.
        f"  {keys} \\\n"
        f"    aws dynamodb list-tables --region us-east-1 --endpoint-url {endpoint}\n\n"
        f"{for_client}Stop it with Ctrl-C.",
        flush=True,
    )
