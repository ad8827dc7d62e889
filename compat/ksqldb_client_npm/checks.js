// What a user of ksqldb-client does with an open server, over HTTP/2 without TLS: every method of the client.
// checks.js [NAME...]   prints a line for each check

const assert = require("assert");
const Client = require("ksqldb-client");
const { options, until, main } = require("./harness.js");

const EARLIEST = { "auto.offset.reset": "earliest" };
let count = 0;
const name = (what) => `${what}_${(count += 1)}`;

const connected = async (use) => {
    const client = new Client(options());
    await client.connect();
    try {
        return await use(client);
    } finally {
        await client.disconnect();
    }
};

const run = async (client, statement, more) => {
    const { status, error, data } = await client.executeStatement(statement, more);
    assert.deepStrictEqual([status, error], [200, undefined], statement);
    return data.rows[0];
};

const stream = async (client, what, columns = "id STRING KEY, n INT") => {
    const made = name(what);
    const options = `KAFKA_TOPIC='${made}', VALUE_FORMAT='JSON', PARTITIONS=1`;
    await run(client, `CREATE STREAM ${made} (${columns}) WITH (${options});`);
    return made;
};

const insert = async (client, target, row) => {
    const { status, error, data } = await client.insertInto(target, row);
    assert.deepStrictEqual([status, error], [200, undefined]);
    assert.deepStrictEqual(data.rows, [{ status: "ok", seq: 0 }]);
};

const rows = async (client, query, more) => {
    const { status, error, data } = await client.query(query, more);
    assert.deepStrictEqual([status, error], [200, undefined], query);
    return data.rows;
};

const table = async (client, what) => {
    const source = await stream(client, `${what}_source`);
    const made = name(what);
    const entity = await run(client, `CREATE TABLE ${made} AS SELECT id, COUNT(*) AS k FROM ${source} GROUP BY id;`, {
        streamsProperties: EARLIEST,
    });
    return { source, made, queryId: entity.commandStatus.queryId };
};

main({
    "executeStatement answers with the command": () =>
        connected(async (client) => {
            const made = name("created");
            const text = `CREATE STREAM ${made} (id STRING KEY, n INT) WITH (KAFKA_TOPIC='${made}', VALUE_FORMAT='JSON', PARTITIONS=1);`;
            const entity = await run(client, text);
            assert.strictEqual(entity["@type"], "currentStatus");
            assert.strictEqual(entity.statementText, text);
            assert.strictEqual(entity.commandId, `stream/\`${made.toUpperCase()}\`/create`);
            assert.deepStrictEqual(entity.commandStatus, { status: "SUCCESS", message: "Stream created", queryId: null });
            assert.ok(entity.commandSequenceNumber >= 0);
            assert.deepStrictEqual(entity.warnings, []);
        }),
    "executeStatement waits for a command sequence number": () =>
        connected(async (client) => {
            const { commandSequenceNumber } = await run(client, "CREATE TYPE place AS STRUCT<x INT>;");
            const entity = await run(client, "DROP TYPE place;", { commandSequenceNumber });
            assert.ok(entity.commandSequenceNumber > commandSequenceNumber);
        }),
    "session variables replace names and values": () =>
        connected(async (client) => {
            const made = name("variable");
            await run(client, "CREATE STREAM ${s} (n INT) WITH (KAFKA_TOPIC='${t}', VALUE_FORMAT='JSON', PARTITIONS=1);", {
                sessionVariables: { s: made, t: made },
            });
            await insert(client, made, { n: 7 });
            await insert(client, made, { n: 8 });
            const found = await rows(client, "SELECT n FROM ${s} WHERE n = ${v};", { sessionVariables: { s: made, v: "8" } });
            assert.deepStrictEqual(found, [{ N: 8 }]);
        }),
    "an invalid statement is refused with its text": () =>
        connected(async (client) => {
            const text = "CREATE STREAM nothing WITH;";
            const { status, error, data } = await client.executeStatement(text);
            assert.deepStrictEqual([status, data], [400, undefined]);
            assert.deepStrictEqual([error["@type"], error.error_code], ["statement_error", 40001]);
            assert.strictEqual(error.statementText, text);
        }),
    "rows of all types come back as they were": () =>
        connected(async (client) => {
            const columns =
                "a INT, b BIGINT, c DOUBLE, d DECIMAL(6, 2), e BOOLEAN, f STRING, g ARRAY<INT>, h MAP<STRING, INT>, " +
                "i STRUCT<x INT, y ARRAY<STRING>>, j BYTES, k DATE, l TIME, m TIMESTAMP";
            const made = await stream(client, "types", columns);
            const row = {
                A: 1, B: 2 ** 40, C: 0.5, D: 12.34, E: true, F: "it's \"quoted\"", G: [1, null, 3], H: { k: 1 },
                I: { X: 1, Y: ["p", "q"] }, J: "aGVsbG8=", K: "2024-02-29", L: "23:59:58", M: "2024-02-29T23:59:58.123",
            };
            await insert(client, made, row);
            await insert(client, made, { A: null });
            const empty = Object.fromEntries(Object.keys(row).map((key) => [key, null]));
            assert.deepStrictEqual(await rows(client, `SELECT * FROM ${made};`), [row, empty]);
        }),
    "names of columns in quotes keep their case": () =>
        connected(async (client) => {
            const made = await stream(client, "quoted", "`Id` STRING KEY, `my n` INT");
            await insert(client, made, { "`Id`": "a", "`my n`": 1 });
            assert.deepStrictEqual(await rows(client, `SELECT * FROM ${made};`), [{ Id: "a", "my n": 1 }]);
        }),
    "insertInto reports what is wrong with a row": () =>
        connected(async (client) => {
            const made = await stream(client, "wrong");
            for (const row of [{ missing: 1 }, { id: "a", n: "text" }]) {
                const { error, data } = await client.insertInto(made, row);
                assert.strictEqual(data, undefined);
                assert.strictEqual(error.status, "error");
                assert.ok(error.error_code >= 40000 && error.message, JSON.stringify(error));
            }
            assert.deepStrictEqual(await rows(client, `SELECT * FROM ${made};`), []);
        }),
    "a query describes its columns": () =>
        connected(async (client) => {
            const made = await stream(client, "metadata");
            const { data } = await client.query(`SELECT id, n * 1.5 AS x FROM ${made};`);
            assert.deepStrictEqual(data.metadata.columnNames, ["ID", "X"]);
            assert.deepStrictEqual(data.metadata.columnTypes, ["STRING", "DECIMAL(13, 1)"]);
            assert.ok(data.metadata.queryId);
        }),
    "an invalid query is refused with its text": () =>
        connected(async (client) => {
            const { status, error } = await client.query("SELECT * FROM missing;");
            assert.deepStrictEqual([status, error["@type"], error.error_code], [400, "statement_error", 40001]);
            assert.match(error.message, /MISSING/);
        }),
    "a push query delivers each row by itself": () =>
        connected(async (client) => {
            const made = await stream(client, "pushed");
            const wanted = 200;
            // With its first response, the client learns how many requests it may send at once.
            await insert(client, made, { id: "k0", n: 0 });
            await Promise.all(
                Array.from({ length: wanted - 1 }, (_, n) => insert(client, made, { id: `k${n + 1}`, n: n + 1 })),
            );
            const seen = [];
            const query = `SELECT n FROM ${made} EMIT CHANGES LIMIT ${wanted};`;
            const result = await client.streamQuery(query, (data) => seen.push(...(data.rows || [])), {
                properties: EARLIEST,
            });
            assert.deepStrictEqual([result.status, result.error], [200, undefined]);
            assert.deepStrictEqual(seen.map((row) => row.N).sort((a, b) => a - b), [...Array(wanted).keys()]);
            assert.deepStrictEqual(result.data.metadata.columnNames, ["N"]);
        }),
    "a push query follows rows until terminatePushQuery": () =>
        connected(async (client) => {
            const made = await stream(client, "followed");
            const seen = [];
            let queryId;
            const ended = client.streamQuery(`SELECT * FROM ${made} EMIT CHANGES;`, (data) => {
                queryId = data.metadata.queryId;
                seen.push(...(data.rows || []));
            });
            await until(() => queryId);
            await insert(client, made, { id: "a", n: 1 });
            await until(() => seen[0]);
            assert.deepStrictEqual(seen, [{ ID: "a", N: 1 }]);
            const closed = await client.terminatePushQuery(queryId);
            assert.deepStrictEqual([closed.status, closed.error], [200, undefined]);
            assert.strictEqual((await ended).status, 200);
            const again = await client.terminatePushQuery(queryId);
            assert.deepStrictEqual([again.status, again.error.error_code], [400, 40000]);
        }),
    "a push query may have session variables": () =>
        connected(async (client) => {
            const made = await stream(client, "pushed_variables");
            await insert(client, made, { id: "a", n: 1 });
            const seen = [];
            await client.streamQuery("SELECT n FROM ${s} EMIT CHANGES LIMIT 1;", (data) => seen.push(...(data.rows || [])), {
                sessionVariables: { s: made },
                properties: EARLIEST,
            });
            assert.deepStrictEqual(seen, [{ N: 1 }]);
        }),
    "a push query that is refused reports it": () =>
        connected(async (client) => {
            const { status, error } = await client.streamQuery("SELECT * FROM missing EMIT CHANGES;", () => {});
            assert.deepStrictEqual([status, error.error_code], [400, 40001]);
        }),
    "a hundred queries share one connection": () =>
        connected(async (client) => {
            const made = await stream(client, "shared");
            await insert(client, made, { id: "a", n: 1 });
            const results = await Promise.all(Array.from({ length: 100 }, () => rows(client, `SELECT n FROM ${made};`)));
            results.forEach((found) => assert.deepStrictEqual(found, [{ N: 1 }]));
        }),
    "lists of streams, tables, topics and queries": () =>
        connected(async (client) => {
            const { source, made, queryId } = await table(client, "listed");
            const info = { keyFormat: "KAFKA", valueFormat: "JSON", isWindowed: false };
            const found = (list, wanted) => list.find((one) => one.name === wanted.toUpperCase());
            assert.deepStrictEqual(found(await client.listStreams(), source), {
                type: "STREAM", name: source.toUpperCase(), topic: source, ...info,
            });
            assert.deepStrictEqual(found(await client.listTables(), made), {
                type: "TABLE", name: made.toUpperCase(), topic: made.toUpperCase(), ...info,
            });
            const topics = await client.listTopics();
            assert.deepStrictEqual(topics.find((topic) => topic.name === source), { name: source, replicaInfo: [1] });
            const query = (await client.listQueries()).find((one) => one.id === queryId);
            assert.deepStrictEqual(
                [query.queryType, query.sinks, query.sinkKafkaTopics],
                ["PERSISTENT", [made.toUpperCase()], [made.toUpperCase()]],
            );
            assert.match(query.queryString, /^CREATE TABLE/);
            await run(client, `TERMINATE ${queryId};`);
        }),
    "describeSource": () =>
        connected(async (client) => {
            const made = await stream(client, "described", "id STRING KEY, n INT, s STRUCT<x ARRAY<INT>>");
            const found = await client.describeSource(made);
            assert.deepStrictEqual([found.name, found.type, found.topic], [made.toUpperCase(), "STREAM", made]);
            assert.deepStrictEqual([found.readQueries, found.writeQueries, found.windowType], [[], [], null]);
            assert.deepStrictEqual(found.fields, [
                { name: "ID", schema: { type: "STRING", fields: null, memberSchema: null }, type: "KEY" },
                { name: "N", schema: { type: "INTEGER", fields: null, memberSchema: null } },
                {
                    name: "S",
                    schema: {
                        type: "STRUCT",
                        fields: [
                            {
                                name: "X",
                                schema: {
                                    type: "ARRAY", fields: null,
                                    memberSchema: { type: "INTEGER", fields: null, memberSchema: null },
                                },
                            },
                        ],
                        memberSchema: null,
                    },
                },
            ]);
        }),
    "a table is filled, asked by key, terminated and dropped": () =>
        connected(async (client) => {
            const { source, made, queryId } = await table(client, "counted");
            for (const id of ["a", "b", "a"]) await insert(client, source, { id, n: 1 });
            const found = await until(async () => {
                const [row] = await rows(client, `SELECT * FROM ${made} WHERE id = 'a';`);
                return row && row.K === 2 ? row : undefined;
            });
            assert.deepStrictEqual(found, { ID: "a", K: 2 });
            const both = await rows(client, `SELECT * FROM ${made} WHERE id IN ('a', 'b');`);
            assert.deepStrictEqual(both.sort((x, y) => (x.ID < y.ID ? -1 : 1)), [{ ID: "a", K: 2 }, { ID: "b", K: 1 }]);
            const refused = await client.executeStatement(`DROP STREAM ${source};`);
            assert.deepStrictEqual([refused.status, refused.error.error_code], [400, 40001]);
            const ended = await run(client, `TERMINATE ${queryId};`);
            assert.strictEqual(ended.commandStatus.status, "SUCCESS");
            const dropped = await run(client, `DROP TABLE ${made} DELETE TOPIC;`);
            assert.strictEqual(dropped.commandStatus.status, "SUCCESS");
            await run(client, `DROP STREAM ${source} DELETE TOPIC;`);
            const names = (await client.listTopics()).map((topic) => topic.name);
            assert.ok(!names.includes(source) && !names.includes(made.toUpperCase()));
        }),
    "INSERT INTO SELECT writes what a query finds": () =>
        connected(async (client) => {
            const [from, to] = [await stream(client, "from"), await stream(client, "into")];
            const { commandStatus } = await run(client, `INSERT INTO ${to} SELECT id, n + 1 AS n FROM ${from};`);
            await insert(client, from, { id: "a", n: 1 });
            const found = await until(async () => (await rows(client, `SELECT * FROM ${to};`))[0]);
            assert.deepStrictEqual(found, { ID: "a", N: 2 });
            await run(client, `TERMINATE ${commandStatus.queryId};`);
        }),
    "a base path is not part of what the client sends": () =>
        connected(async (client) => {
            const { status } = await client.executeStatement("LIST STREAMS;", {}, "/nothing").catch((reason) => reason);
            assert.ok(status === 404, String(status));
        }),
});
