// The table that scenarios are played on: a composite key and a global index.

export const WAIT = { minDelay: 1, maxDelay: 1, maxWaitTime: 60 };

export function definition(TableName) {
  return {
    TableName,
    BillingMode: "PAY_PER_REQUEST",
    KeySchema: [
      { AttributeName: "pk", KeyType: "HASH" },
      { AttributeName: "sk", KeyType: "RANGE" },
    ],
    AttributeDefinitions: [
      { AttributeName: "pk", AttributeType: "S" },
      { AttributeName: "sk", AttributeType: "N" },
      { AttributeName: "colour", AttributeType: "S" },
    ],
    GlobalSecondaryIndexes: [
      {
        IndexName: "by-colour",
        KeySchema: [
          { AttributeName: "colour", KeyType: "HASH" },
          { AttributeName: "sk", KeyType: "RANGE" },
        ],
        Projection: { ProjectionType: "ALL" },
      },
    ],
  };
}
