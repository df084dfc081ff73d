// Plays one scenario: `node play.mjs ENDPOINT SLOW_ENDPOINT SCENARIO`. The SDK is in a `node_modules` beside this file.

import { randomUUID } from "node:crypto";

import {
  CreateTableCommand,
  DeleteTableCommand,
  DynamoDBClient,
  waitUntilTableExists,
} from "@aws-sdk/client-dynamodb";
import { DynamoDBDocumentClient } from "@aws-sdk/lib-dynamodb";

import * as scenarios from "./scenarios.mjs";
import { WAIT, definition } from "./table.mjs";

const [endpoint, slowEndpoint, scenario] = process.argv.slice(2);
const client = new DynamoDBClient({ endpoint });
const slow = new DynamoDBClient({ endpoint: slowEndpoint });
const documents = DynamoDBDocumentClient.from(client);
const TableName = `gramme-javascript-${randomUUID()}`;

await client.send(new CreateTableCommand(definition(TableName)));
try {
  await waitUntilTableExists({ client, ...WAIT }, { TableName });
  await scenarios[scenario]({ client, documents, slow, TableName });
} finally {
  await client.send(new DeleteTableCommand({ TableName }));
}
