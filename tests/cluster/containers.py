"""The cluster of `deploy/compose.yaml`, as its users run it, and its containers, each of which can be killed and brought back."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Self

import boto3
from botocore.config import Config
from testcontainers.compose import DockerCompose
from testcontainers.core.docker_client import DockerClient

from tests.cluster.engine import COMPOSE_FILE, DEPLOY, docker
from tests.support.waiting import until

if TYPE_CHECKING:
    from types_boto3_dynamodb import DynamoDBClient

NODES = ("node-1", "node-2", "node-3")
ROUTER = "router"
HTTP_PORT = 8000
# A health check is made every ten seconds, and beside others that start takes its time.
HEALTHY_S = 90.0
COMMAND_TIMEOUT_S = 120.0


class Containers:
    """Leaving the context removes the containers and their volumes."""

    def __init__(self) -> None:
        self._compose = DockerCompose(DEPLOY, compose_file_name=COMPOSE_FILE, wait=True)
        self._engine = DockerClient()

    @property
    def endpoint(self) -> str:
        port = self._compose.get_service_port(ROUTER, HTTP_PORT)
        return f"http://127.0.0.1:{port}"

    def dynamodb(self) -> DynamoDBClient:
        """A router that is asked while an election runs answers within ten seconds, if only to say that it cannot."""
        return boto3.client(
            "dynamodb",
            endpoint_url=self.endpoint,
            region_name="us-east-1",
            aws_access_key_id="any",
            aws_secret_access_key="any",
            config=Config(read_timeout=30, retries={"total_max_attempts": 4}),
        )

    def status(self) -> dict[str, Any]:
        """What the service `status` says, whatever it thinks of it."""
        done = self._ask("run", "--rm", "status", "--json")
        status: dict[str, Any] = json.loads(done)
        return status

    def health(self, service: str) -> str:
        """As the engine shows it; empty for a container that does not run."""
        found = [one for one in self._compose.get_containers() if one.Service == service]
        return (found[0].Health or "") if found else ""

    def kill(self, service: str) -> None:
        """As kill -9 does."""
        self._container(service).kill()

    def bring_back(self, service: str) -> None:
        """Start the container again, and wait until it says that it serves."""
        self._container(service).start()
        until(lambda: self.health(service) == "healthy", HEALTHY_S, f"{service} is healthy")

    def up(self) -> None:
        """Return when all are healthy."""
        self._compose.start()

    def down(self) -> None:
        """Remove the containers, and keep the volumes."""
        self._ask("down")

    def table_of_processes(self) -> str:
        return self._ask("ps", "--all")

    def _container(self, service: str) -> Any:
        found = self._compose.get_container(service, include_all=True)
        return self._engine.client.containers.get(str(found.ID))

    def _ask(self, *arguments: str) -> str:
        command = self._compose.docker_compose_command()[1:]
        done = docker(*command, *arguments, timeout_s=COMMAND_TIMEOUT_S)
        assert done.returncode == 0, f"{arguments}:\n{done.stdout}{done.stderr}"
        return done.stdout

    def __enter__(self) -> Self:
        try:
            self.up()
        except BaseException:
            self._end()
            raise
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        self._end()

    def _end(self) -> None:
        print(f"{self.table_of_processes()}\nthe cluster's last words:")
        print(*self._compose.get_logs(), sep="\n")
        self._compose.stop()
