// Runs checks one after the other: a line "ok - name" or "not ok - name: reason" for each, then "done".

const { URL } = require("url");

const LIMIT_MS = 120000;
const url = new URL(process.env.SQL_URL);

/** Options of a client of the server under test. */
const options = (more) => ({ host: `${url.protocol}//${url.hostname}`, port: url.port, timeout: LIMIT_MS, ...more });

/** A promise that is refused after the limit, so that a lost response is a failure and not a hang. */
const limited = (promise) => {
    let timer;
    const late = new Promise((resolve, reject) => {
        timer = setTimeout(() => reject(new Error(`no result within ${LIMIT_MS} ms`)), LIMIT_MS);
    });
    return Promise.race([promise, late]).finally(() => clearTimeout(timer));
};

/** Call `found` until it returns something that is not undefined. */
const until = async (found) => {
    const end = Date.now() + LIMIT_MS;
    for (;;) {
        const result = await found();
        if (result !== undefined) return result;
        if (Date.now() > end) throw new Error("it did not happen");
        await new Promise((resolve) => setTimeout(resolve, 50));
    }
};

const main = async (checks) => {
    const wanted = process.argv.slice(2);
    for (const [name, check] of Object.entries(checks)) {
        if (wanted.length && !wanted.includes(name)) continue;
        try {
            await limited(check());
            console.log(`ok - ${name}`);
        } catch (reason) {
            console.log(`not ok - ${name}: ${String(reason && reason.stack).replace(/\n/g, " ")}`);
        }
    }
    console.log("done");
    process.exit(0);
};

module.exports = { options, until, main };
