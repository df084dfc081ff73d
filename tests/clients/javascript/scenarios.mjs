// What the AWS SDK for JavaScript does to a server. Each exported function is a scenario: it gets clients and a table of
// its own from `play.mjs`, and asserts for itself.

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";

import {
  ConditionalCheckFailedException,
  CreateTableCommand,
  DeleteTableCommand,
  DescribeTableCommand,
  DynamoDBClient,
  GetItemCommand,
  PutItemCommand,
  ResourceNotFoundException,
  waitUntilTableExists,
  waitUntilTableNotExists,
} from "@aws-sdk/client-dynamodb";
import {
  BatchGetCommand,
  BatchWriteCommand,
  DeleteCommand,
  DynamoDBDocumentClient,
  GetCommand,
  NumberValue,
  PutCommand,
  QueryCommand,
  UpdateCommand,
  paginateQuery,
  paginateScan,
} from "@aws-sdk/lib-dynamodb";

import { WAIT, definition } from "./table.mjs";

const INDEX_TIMEOUT_MS = 30_000;

export async function theClientSpeaksTypedValues({ client, TableName }) {
  const item = {
    pk: { S: "typed" },
    sk: { N: "1" },
    blob: { B: new Uint8Array([0, 255]) },
    numbers: { NS: ["1.5", "2"] },
    nested: { L: [{ M: { yes: { BOOL: true }, none: { NULL: true } } }] },
  };

  await client.send(new PutItemCommand({ TableName, Item: item }));
  const read = await client.send(
    new GetItemCommand({ TableName, Key: { pk: item.pk, sk: item.sk }, ConsistentRead: true }),
  );

  assert.deepEqual({ ...read.Item, numbers: { NS: read.Item.numbers.NS.sort() } }, item);
  assert.equal(read.$metadata.httpStatusCode, 200);
  assert.equal(read.$metadata.attempts, 1);
  assert.ok(read.$metadata.requestId);
}

export async function bytesOfALargeAnswerSurviveTheirWay({ documents, TableName }) {
  const blob = new Uint8Array(256_000).map((_, index) => index % 256);

  await documents.send(new PutCommand({ TableName, Item: { pk: "large", sk: 1, blob } }));
  const read = await documents.send(
    new GetCommand({ TableName, Key: { pk: "large", sk: 1 }, ConsistentRead: true }),
  );

  assert.deepEqual(read.Item.blob, blob);
  assert.equal(read.$metadata.attempts, 1);
}

export async function documentsKeepTheirTypes({ documents, TableName }) {
  const item = {
    pk: "document",
    sk: 1,
    text: "Grammé ⚡",
    price: 9.99,
    yes: true,
    nothing: null,
    blob: new Uint8Array([1, 2, 3]),
    tags: new Set(["a", "b"]),
    sizes: new Set([1, 2]),
    list: [1, "two", { three: [] }],
  };

  await documents.send(new PutCommand({ TableName, Item: item }));
  const { Item } = await documents.send(
    new GetCommand({ TableName, Key: { pk: "document", sk: 1 }, ConsistentRead: true }),
  );

  assert.deepEqual(Item, item);
}

export async function numbersKeepAllTheirDigits({ client, TableName }) {
  const exact = DynamoDBDocumentClient.from(client, { unmarshallOptions: { wrapNumbers: true } });
  const digits = "12345678901234567890123456789012345678";

  await exact.send(
    new PutCommand({ TableName, Item: { pk: "digits", sk: 1, n: NumberValue.from(digits) } }),
  );
  const { Item } = await exact.send(new GetCommand({ TableName, Key: { pk: "digits", sk: 1 } }));

  assert.equal(Item.n.toString(), digits);
}

export async function anUpdateReturnsWhatItChanged({ documents, TableName }) {
  const Key = { pk: "update", sk: 1 };
  await documents.send(new PutCommand({ TableName, Item: { ...Key, plays: 1, tags: new Set(["a"]) } }));

  const { Attributes } = await documents.send(
    new UpdateCommand({
      TableName,
      Key,
      UpdateExpression: "SET plays = plays + :one ADD tags :more",
      ExpressionAttributeValues: { ":one": 1, ":more": new Set(["b"]) },
      ReturnValues: "UPDATED_NEW",
    }),
  );
  const gone = await documents.send(new DeleteCommand({ TableName, Key, ReturnValues: "ALL_OLD" }));

  assert.deepEqual(Attributes, { plays: 2, tags: new Set(["a", "b"]) });
  assert.equal(gone.Attributes.plays, 2);
}

export async function aFailedConditionIsAnErrorOfItsOwnClass({ documents, TableName }) {
  const create = (owner) =>
    documents.send(
      new PutCommand({
        TableName,
        Item: { pk: "name", sk: 0, owner },
        ConditionExpression: "attribute_not_exists(pk)",
        ReturnValuesOnConditionCheckFailure: "ALL_OLD",
      }),
    );
  await create("ada");

  await assert.rejects(create("bob"), (error) => {
    assert.ok(error instanceof ConditionalCheckFailedException);
    assert.equal(error.message, "The conditional request failed");
    assert.deepEqual(error.Item.owner, { S: "ada" });
    return true;
  });
}

export async function aMissingTableIsAnErrorOfItsOwnClass({ documents }) {
  const missing = new GetCommand({ TableName: "gramme-never", Key: { pk: "a" } });

  await assert.rejects(documents.send(missing), (error) => {
    assert.ok(error instanceof ResourceNotFoundException);
    assert.equal(error.$metadata.attempts, 1);
    return true;
  });
}

export async function oneOfManyConcurrentCreatesWins({ documents, TableName }) {
  const claims = Array.from({ length: 20 }, (_, owner) =>
    documents.send(
      new PutCommand({
        TableName,
        Item: { pk: "claim", sk: 0, owner },
        ConditionExpression: "attribute_not_exists(pk)",
      }),
    ),
  );

  const outcomes = await Promise.allSettled(claims);

  assert.equal(outcomes.filter(({ status }) => status === "fulfilled").length, 1);
}

export async function batchesWriteAndRead({ documents, TableName }) {
  const keys = Array.from({ length: 25 }, (_, sk) => ({ pk: "batch", sk }));

  const written = await documents.send(
    new BatchWriteCommand({
      RequestItems: { [TableName]: keys.map((Item) => ({ PutRequest: { Item } })) },
    }),
  );
  const read = await documents.send(
    new BatchGetCommand({ RequestItems: { [TableName]: { Keys: keys, ConsistentRead: true } } }),
  );

  assert.deepEqual(written.UnprocessedItems, {});
  assert.equal(read.Responses[TableName].length, 25);
}

export async function paginatorsGoThroughQueryAndScan({ documents, TableName }) {
  for (let sk = 0; sk < 7; sk++) {
    await documents.send(new PutCommand({ TableName, Item: { pk: "page", sk } }));
  }
  const query = {
    TableName,
    KeyConditionExpression: "pk = :pk",
    ExpressionAttributeValues: { ":pk": "page" },
  };

  const queried = [];
  for await (const page of paginateQuery({ client: documents, pageSize: 3 }, query)) {
    queried.push(page.Items.map(({ sk }) => sk));
  }
  let scanned = 0;
  for await (const page of paginateScan({ client: documents, pageSize: 2 }, { TableName })) {
    scanned += page.Count;
  }

  assert.deepEqual(queried, [[0, 1, 2], [3, 4, 5], [6]]);
  assert.equal(scanned, 7);
}

export async function anIndexCatchesUp({ documents, TableName }) {
  for (let sk = 0; sk < 3; sk++) {
    await documents.send(new PutCommand({ TableName, Item: { pk: "index", sk, colour: "red" } }));
  }
  const query = new QueryCommand({
    TableName,
    IndexName: "by-colour",
    KeyConditionExpression: "colour = :colour",
    ExpressionAttributeValues: { ":colour": "red" },
  });

  const deadline = Date.now() + INDEX_TIMEOUT_MS;
  let found;
  do {
    found = (await documents.send(query)).Items.map(({ sk }) => sk);
  } while (found.length < 3 && Date.now() < deadline);

  assert.deepEqual(found, [0, 1, 2]);
}

export async function waitersSeeASlowTableComeAndGo({ slow }) {
  const TableName = `gramme-javascript-${randomUUID()}`;

  await slow.send(new CreateTableCommand(definition(TableName)));
  const exists = await waitUntilTableExists({ client: slow, ...WAIT }, { TableName });
  const { Table } = await slow.send(new DescribeTableCommand({ TableName }));
  await slow.send(new DeleteTableCommand({ TableName }));
  const gone = await waitUntilTableNotExists({ client: slow, ...WAIT }, { TableName });

  assert.equal(exists.state, "SUCCESS");
  assert.equal(Table.TableStatus, "ACTIVE");
  assert.ok(Table.CreationDateTime instanceof Date);
  assert.equal(gone.state, "SUCCESS");
}
