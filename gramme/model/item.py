"""An item, as the JSON decoder makes it: there is no object per attribute."""

from __future__ import annotations

from typing import Any

# One typed value, such as {"S": "a"} or {"L": [{"N": "1"}]}.
AttributeValue = dict[str, Any]

# Attribute name -> typed value.
Item = dict[str, AttributeValue]

# The values of one request's expressions: ":name" -> typed value.
Values = dict[str, AttributeValue]
