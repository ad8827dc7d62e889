// What ksqldb-client does with a server that has TLS and logins.
// logins.js [NAME...]   prints a line for each check

const assert = require("assert");
const fs = require("fs");
const Client = require("ksqldb-client");
const { options, main } = require("./harness.js");

const ssl = { ca: fs.readFileSync(process.env.SQL_CA_FILE) };

const asked = async (more, authorization) => {
    const client = new Client(options({ authorization: { ssl, ...authorization }, ...more }));
    await client.connect();
    try {
        return await client.executeStatement("DROP STREAM IF EXISTS nothing;");
    } finally {
        await client.disconnect();
    }
};

main({
    "TLS with ALPN reaches the server, which asks for a login": async () => {
        const { status, error } = await asked({ alpnProtocols: ["h2"] });
        assert.deepStrictEqual([status, error["@type"], error.error_code], [401, "generic_error", 40100]);
    },
    "a certificate of another authority is not trusted": async () => {
        const other = { ca: Buffer.from("") };
        const client = new Client(options({ authorization: { ssl: other }, alpnProtocols: ["h2"] }));
        await assert.rejects(client.connect(), /certificate/);
    },
    "user and password are sent": async () => {
        const { SQL_USER: username, SQL_PASSWORD: password } = process.env;
        const { status } = await asked({ alpnProtocols: ["h2"] }, { username, password });
        assert.strictEqual(status, 200);
    },
});
