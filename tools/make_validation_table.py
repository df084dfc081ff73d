"""Write `router/validation/generated.py` from the AWS SDK's service models.

Run by hand, with botocore at the version named below installed:

    python tools/make_validation_table.py

The table holds every shape that a request of either service can contain, and of each shape only what a request can
be checked against. Nothing else in Gramme reads botocore.
"""

from __future__ import annotations

import gzip
import json
import sys
from collections.abc import Iterator
from importlib import metadata, util
from pathlib import Path
from typing import Any

BOTOCORE_VERSION = "1.44.3"
SERVICES = ("dynamodb", "dynamodbstreams")
API_VERSION = "2012-08-10"
TARGET = Path(__file__).parent.parent / "router" / "validation" / "generated.py"

HEAD = '''"""The requests of DynamoDB and DynamoDB Streams, as the AWS SDK's service models describe them.

Written by tools/make_validation_table.py. Do not edit: what the service does otherwise is in `measured.py`.
"""

from __future__ import annotations

from typing import Final

from gramme.router.validation.shapes import Shape

# One line for each shape keeps a change of the model short to read.
# fmt: off
BOTOCORE_VERSION: Final = {version!r}

# Operation -> the shape of its request.
OPERATIONS: Final[dict[str, str]] = {{
{operations}
}}

SHAPES: Final[dict[str, Shape]] = {{
{shapes}
}}
'''


def main() -> int:
    installed = metadata.version("botocore")
    if installed != BOTOCORE_VERSION:
        print(
            f"botocore is {installed}, the table is made from {BOTOCORE_VERSION}", file=sys.stderr
        )
        return 1
    TARGET.write_text(render())
    return 0


def render() -> str:
    """The text of the table, made from the botocore that is installed."""
    operations: dict[str, str] = {}
    shapes: dict[str, dict[str, Any]] = {}
    for service in SERVICES:
        model = load(service)
        for name, operation in model["operations"].items():
            operations[name] = operation["input"]["shape"]
        for name, shape in reachable(model):
            if shapes.setdefault(name, shape) != shape:
                raise ValueError(f"the services disagree about {name}")
    return HEAD.format(
        version=BOTOCORE_VERSION,
        operations="\n".join(line(name, operations[name]) for name in sorted(operations)),
        shapes="\n".join(line(name, shapes[name]) for name in sorted(shapes)),
    )


def load(service: str) -> dict[str, Any]:
    package = util.find_spec("botocore")
    assert package is not None and package.origin is not None
    data = Path(package.origin).parent / "data" / service / API_VERSION / "service-2.json.gz"
    with gzip.open(data) as file:
        model: dict[str, Any] = json.load(file)
    return model


def reachable(model: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every shape that a request can contain."""
    waiting = [operation["input"]["shape"] for operation in model["operations"].values()]
    seen: set[str] = set()
    while waiting:
        name = waiting.pop()
        if name in seen:
            continue
        seen.add(name)
        shape = strip(model["shapes"][name])
        yield name, shape
        waiting += shape.get("members", {}).values()
        waiting += [shape[part] for part in ("member", "key", "value") if part in shape]


def strip(shape: dict[str, Any]) -> dict[str, Any]:
    """A shape less its prose and less what only an SDK needs."""
    kept: dict[str, Any] = {
        part: shape[part] for part in ("type", "min", "max", "pattern", "enum") if part in shape
    }
    if "members" in shape:
        kept["members"] = {name: member["shape"] for name, member in shape["members"].items()}
        if shape.get("required"):
            kept["required"] = shape["required"]
    for part in ("member", "key", "value"):
        if part in shape:
            kept[part] = shape[part]["shape"]
    return kept


def line(name: str, value: object) -> str:
    return f"    {name!r}: {value!r},"


if __name__ == "__main__":
    sys.exit(main())
