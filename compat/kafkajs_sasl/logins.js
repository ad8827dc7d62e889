// Every way in which KafkaJS logs in over TLS, and what it reports if it may not.
// node logins.js FOLDER < JSON of addresses, user, password and token
//   prints "ok - name" or "not ok - name" for each check; FOLDER has ca.pem and client.pem.

const assert = require('node:assert')
const { randomUUID } = require('node:crypto')
const { readFileSync } = require('node:fs')
const { Kafka, logLevel, Partitioners } = require('kafkajs')

const folder = process.argv[2]
const { sasl: saslAddress, mutual, user, password, token } = JSON.parse(readFileSync(0, 'utf8'))
const ca = [readFileSync(`${folder}/ca.pem`, 'utf8')]
const pem = readFileSync(`${folder}/client.pem`, 'utf8')
const MECHANISMS = ['plain', 'scram-sha-256', 'scram-sha-512']

function client(address, options) {
  const retry = { retries: 2 }
  return new Kafka({ brokers: [address], logLevel: logLevel.NOTHING, retry, ...options })
}

function withPassword(mechanism, typed) {
  return client(saslAddress, { ssl: { ca }, sasl: { mechanism, username: user, password: typed } })
}

function withToken(value) {
  const oauthBearerProvider = async () => ({ value })
  return client(saslAddress, { ssl: { ca }, sasl: { mechanism: 'oauthbearer', oauthBearerProvider } })
}

async function roundTrip(kafka) {
  const topic = `kafkajs-sasl-${randomUUID()}`
  const producer = kafka.producer({ createPartitioner: Partitioners.DefaultPartitioner })
  const consumer = kafka.consumer({ groupId: topic, maxWaitTimeInMs: 200 })
  try {
    await producer.connect()
    await producer.send({ topic, messages: [{ value: 'a letter' }] })
    await consumer.connect()
    await consumer.subscribe({ topics: [topic], fromBeginning: true })
    const read = await new Promise((resolve, reject) => {
      setTimeout(() => reject(new Error('nothing was read')), 30_000).unref()
      const eachMessage = async ({ message }) => resolve(message.value.toString())
      consumer.run({ eachMessage }).catch(reject)
    })
    assert.strictEqual(read, 'a letter')
  } finally {
    await Promise.all([producer.disconnect(), consumer.disconnect()])
  }
}

async function refused(kafka, name) {
  const admin = kafka.admin()
  await assert.rejects(admin.connect(), (error) => {
    assert.strictEqual(error.name, name)
    assert(!`${error.message}${error.stack}`.includes('wrong-secret'))
    return true
  })
  await admin.disconnect()
}

const checks = {
  'a round trip with a token': () => roundTrip(withToken(token)),
  'a client with a wrong token gets nothing': async () => {
    // It takes the broker's reason for a success, and fails with its next request.
    const admin = withToken(`${token}x`).admin()
    await assert.rejects(admin.connect().then(() => admin.listTopics()))
    await admin.disconnect()
  },
  'a round trip with a client certificate': () =>
    roundTrip(client(mutual, { ssl: { ca, cert: pem, key: pem } })),
  'a connection without a client certificate fails': async () => {
    await assert.rejects(client(mutual, { ssl: { ca } }).admin().connect())
  },
  'a broker of an unknown authority is refused': async () => {
    await assert.rejects(client(saslAddress, { ssl: true }).admin().connect())
  },
}
for (const mechanism of MECHANISMS) {
  checks[`a round trip with ${mechanism}`] = () => roundTrip(withPassword(mechanism, password))
  checks[`a wrong password is reported as a failed login with ${mechanism}`] = () =>
    refused(withPassword(mechanism, 'wrong-secret'), 'KafkaJSSASLAuthenticationError')
}

async function main() {
  for (const [name, check] of Object.entries(checks)) {
    try {
      await check()
      console.log(`ok - ${name}`)
    } catch (error) {
      console.log(`not ok - ${name}`)
      console.error(name, error)
    }
  }
  process.exit(0)
}

main()
