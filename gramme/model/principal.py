"""Who may ask a cluster: access keys, each with its secret, and whose tables it reaches."""

from __future__ import annotations

from typing import Annotated

import msgspec

# As those of AWS, which clients may look at: "AKIA" and base32, and a secret of base64.
AccessKey = Annotated[str, msgspec.Meta(pattern=r"\AAKIA[A-Z2-7]{16}\Z")]
Secret = Annotated[str, msgspec.Meta(pattern=r"\A[A-Za-z0-9+/]{40}\Z")]
Name = Annotated[str, msgspec.Meta(pattern=r"\A[A-Za-z0-9+=,.@_-]{1,64}\Z")]
Account = Annotated[str, msgspec.Meta(pattern=r"\A[0-9]{12}\Z")]

# Of who does not say whose tables are meant.
DEFAULT_ACCOUNT = "000000000000"


class Holder(msgspec.Struct, frozen=True):
    """A principal without its secret. A name may have several access keys, so that one can take the place of another."""

    access_key: AccessKey
    name: Name
    account: Account


class Principal(Holder, frozen=True):
    """Its `repr` does not have the secret."""

    secret: Secret

    @property
    def holder(self) -> Holder:
        return Holder(self.access_key, self.name, self.account)

    def __repr__(self) -> str:
        return f"Principal({self.access_key}, {self.name}, {self.account})"
