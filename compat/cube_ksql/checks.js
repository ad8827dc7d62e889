// What Cube does with a ksqlDB server: it lists and describes, and fills tables of pre-aggregations.
// checks.js [NAME...]   prints a line for each check

const assert = require("assert");
const { KsqlDriver } = require("@cubejs-backend/ksql-driver");
const { main } = require("harness.js");

const { SQL_URL: url, SQL_USER: username, SQL_PASSWORD: password, SQL_BROKER: kafkaHost } = process.env;
const driver = new KsqlDriver({ url, username, password });
let count = 0;

const stream = async (what) => {
    const made = `CUBE-${what}_${(count += 1)}`;
    await driver.query(
        `CREATE STREAM \`${made}\` (id STRING KEY, n INT, at TIMESTAMP) WITH (KAFKA_TOPIC='${made}', VALUE_FORMAT='JSON', PARTITIONS=2)`,
    );
    return made;
};

const table = async (what) => {
    const [source, made] = [await stream("source"), `CUBE.${what}_${(count += 1)}`];
    const sql = `CREATE TABLE \`${made}\` WITH (KAFKA_TOPIC = '${made}') AS SELECT id, COUNT(*) AS k FROM \`${source}\` WINDOW TUMBLING (SIZE 1 HOUR) GROUP BY id`;
    await driver.loadPreAggregationIntoTable(made, sql, [], { streamOffset: "earliest" });
    return made;
};

main({
    testConnection: () => driver.testConnection(),
    "query replaces values": async () => {
        const made = await stream("values");
        const found = await driver.query("DESCRIBE `CUBE-values_1`");
        assert.strictEqual(found.sourceDescription.name, made);
        assert.strictEqual(driver.prepareQueryWithParams("SELECT ?", ["it's"]), "SELECT 'it''s'");
    },
    "query reports what the server refuses": async () => {
        await assert.rejects(driver.query("DROP STREAM missing"), /ksql API error for 'DROP STREAM missing;': .*MISSING/);
    },
    "tables and their columns": async () => {
        const made = await stream("listed");
        const names = (await driver.getTablesQuery("cube")).map((one) => one.table_name);
        assert.ok(names.includes(made.slice(5)));
        const schema = await driver.tablesSchema();
        assert.deepStrictEqual(schema.CUBE[made.slice(5)], [
            { name: "ID", type: "STRING" }, { name: "N", type: "INTEGER" }, { name: "AT", type: "TIMESTAMP" },
        ]);
    },
    "a table of a pre-aggregation is filled, described and dropped": async () => {
        const made = await table("filled");
        const types = await driver.tableColumnTypes(made);
        assert.deepStrictEqual(types.map((one) => one.name), ["ID", "WINDOWSTART", "WINDOWEND", "K"]);
        const data = await driver.downloadTable(made, { streamOffset: "earliest" });
        // DESCRIBE without EXTENDED reports no partitions, as ksqlDB documents.
        assert.deepStrictEqual([data.streamingTable, data.partitions], [made.replace(".", "-"), 0]);
        assert.deepStrictEqual(data.streamingSource, {
            name: "default", type: "ksql", credentials: { user: username, password, url },
        });
        await driver.dropTable(made);
        await assert.rejects(driver.describeTable(made), /ksql API error/);
    },
    "the topic of a table is read from Kafka": async () => {
        const made = await table("direct");
        const direct = new KsqlDriver({ url, username, password, kafkaHost });
        const data = await direct.downloadTable(made, {});
        assert.deepStrictEqual([data.streamingSource.type, data.streamingTable], ["kafka", made]);
        await driver.dropTable(made);
    },
});
