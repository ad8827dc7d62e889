// What a user of KafkaJS does with a broker: produce, consume in groups, transactions, admin.
// node checks.js HOST:PORT [NAME...]   prints "ok - name" or "not ok - name" for each check.
// KAFKAJS_OPTIONS has further options of the client in JSON, such as how it logs in.

const assert = require('node:assert')
const { randomUUID } = require('node:crypto')
const { CompressionTypes, ConfigResourceTypes, Kafka, logLevel, Partitioners } = require('kafkajs')

const [address, ...selected] = process.argv.slice(2)
const kafka = new Kafka({
  brokers: [address],
  clientId: 'kafkajs-checks',
  logLevel: logLevel.NOTHING,
  retry: { retries: 5 },
  ...JSON.parse(process.env.KAFKAJS_OPTIONS || '{}'),
})
const admin = kafka.admin()
const producer = newProducer()
const CHECK_MS = 30_000

function newProducer(options = {}) {
  return kafka.producer({ createPartitioner: Partitioners.DefaultPartitioner, ...options })
}

function sleep(ms) {
  return new Promise((resolve) => setTimeout(resolve, ms))
}

async function until(holds, what, ms = 15_000) {
  const end = Date.now() + ms
  while (!(await holds())) {
    assert(Date.now() < end, `waited for ${what}`)
    await sleep(50)
  }
}

async function createTopic({ partitions = 1, configs = {} } = {}) {
  const topic = `kafkajs-${randomUUID()}`
  const configEntries = Object.entries(configs).map(([name, value]) => ({ name, value }))
  await admin.createTopics({
    topics: [{ topic, numPartitions: partitions, replicationFactor: 1, configEntries }],
  })
  return topic
}

async function send(topic, values, options = {}) {
  const messages = values.map((value) => (typeof value === 'object' ? value : { value }))
  return producer.send({ topic, messages, ...options })
}

async function consume(topics, options = {}) {
  // Starts a consumer that collects; the caller stops it.
  const { groupId = `group-${randomUUID()}`, run = {}, ...rest } = options
  const consumer = kafka.consumer({ groupId, maxWaitTimeInMs: 200, ...rest })
  const got = []
  await consumer.connect()
  await consumer.subscribe({ topics: [].concat(topics), fromBeginning: true })
  await consumer.run({ ...run, eachMessage: async (message) => void got.push(message) })
  return { consumer, got, groupId }
}

async function read(topics, count, options = {}) {
  const { consumer, got, groupId } = await consume(topics, options)
  try {
    await until(() => got.length >= count, `${count} messages, of which ${got.length} came`)
  } finally {
    await consumer.disconnect()
  }
  return Object.assign(got, { groupId })
}

function values(got) {
  return got.map(({ message }) => message.value && message.value.toString())
}

const checks = {
  async 'produce and read in a group'() {
    const topic = await createTopic({ partitions: 2 })
    const messages = Array.from({ length: 100 }, (_, i) => ({ key: `k${i}`, value: `v${i}` }))
    const answers = await producer.send({ topic, messages })
    assert(answers.every(({ errorCode }) => errorCode === 0))
    assert.strictEqual((await read(topic, 100)).length, 100)
  },

  async 'gzip'() {
    const topic = await createTopic()
    await send(topic, ['x', 'y'], { compression: CompressionTypes.GZIP })
    assert.deepStrictEqual(values(await read(topic, 2)), ['x', 'y'])
  },

  async 'headers, timestamp, null key and value'() {
    const topic = await createTopic()
    const headers = { a: '1', b: ['2', '3'] }
    await send(topic, [{ key: null, value: null, headers, timestamp: '1234567890123' }])
    const [{ message }] = await read(topic, 1)
    assert.strictEqual(message.timestamp, '1234567890123')
    assert.strictEqual(message.value, null)
    assert.strictEqual(message.key, null)
    assert.strictEqual(message.headers.a.toString(), '1')
    assert.deepStrictEqual(message.headers.b.map(String), ['2', '3'])
  },

  async 'acks 0 and 1'() {
    const topic = await createTopic()
    await send(topic, ['one'], { acks: 1 })
    await send(topic, ['none'], { acks: 0 })
    assert.deepStrictEqual(values(await read(topic, 2)), ['one', 'none'])
  },

  async 'idempotent producer'() {
    const idempotent = newProducer({ idempotent: true, maxInFlightRequests: 1 })
    await idempotent.connect()
    const topic = await createTopic()
    for (let i = 0; i < 5; i++) await idempotent.send({ topic, messages: [{ value: `${i}` }] })
    await idempotent.disconnect()
    assert.deepStrictEqual(values(await read(topic, 5)), ['0', '1', '2', '3', '4'])
  },

  async 'a batch for several topics'() {
    const [one, two] = [await createTopic(), await createTopic()]
    const topicMessages = [one, two].map((topic) => ({ topic, messages: [{ value: 'x' }] }))
    await producer.sendBatch({ topicMessages })
    assert.strictEqual((await read([one, two], 2)).length, 2)
  },

  async 'a topic is made when it is produced to'() {
    const topic = `kafkajs-auto-${randomUUID()}`
    await send(topic, ['x'])
    assert.deepStrictEqual(values(await read(topic, 1)), ['x'])
  },

  async 'a topic is not made twice'() {
    const topic = await createTopic()
    assert.strictEqual(await admin.createTopics({ topics: [{ topic }] }), false)
  },

  async 'topics are listed and described'() {
    const topic = await createTopic({ partitions: 3 })
    assert((await admin.listTopics()).includes(topic))
    const { topics } = await admin.fetchTopicMetadata({ topics: [topic] })
    assert.strictEqual(topics[0].partitions.length, 3)
  },

  async 'partitions are added'() {
    const topic = await createTopic()
    await admin.createPartitions({ topicPartitions: [{ topic, count: 3 }] })
    const { topics } = await admin.fetchTopicMetadata({ topics: [topic] })
    assert.strictEqual(topics[0].partitions.length, 3)
  },

  async 'topics are deleted'() {
    const topic = await createTopic()
    await admin.deleteTopics({ topics: [topic] })
    assert(!(await admin.listTopics()).includes(topic))
    await assert.rejects(admin.deleteTopics({ topics: [`missing-${randomUUID()}`] }))
  },

  async 'a topic name that is not allowed is refused'() {
    await assert.rejects(admin.createTopics({ topics: [{ topic: 'a/b' }] }), /topic/i)
  },

  async 'offsets of a topic, also by timestamp'() {
    const topic = await createTopic()
    for (const timestamp of ['1000', '2000', '3000']) await send(topic, [{ value: 'x', timestamp }])
    const [{ low, high }] = await admin.fetchTopicOffsets(topic)
    assert.deepStrictEqual([low, high], ['0', '3'])
    const [{ offset }] = await admin.fetchTopicOffsetsByTimestamp(topic, 1500)
    assert.strictEqual(offset, '1')
  },

  async 'records are deleted'() {
    const topic = await createTopic()
    await send(topic, ['a', 'b', 'c'])
    await admin.fetchTopicOffsets(topic) // KafkaJS finds the leader only of topics that it knows.
    await admin.deleteTopicRecords({ topic, partitions: [{ partition: 0, offset: '2' }] })
    const [{ low }] = await admin.fetchTopicOffsets(topic)
    assert.strictEqual(low, '2')
    assert.deepStrictEqual(values(await read(topic, 1)), ['c'])
  },

  async 'configs are described and altered'() {
    const topic = await createTopic({ configs: { 'retention.ms': '777' } })
    const resource = { type: ConfigResourceTypes.TOPIC, name: topic }
    const retention = async () => {
      const { resources } = await admin.describeConfigs({ resources: [resource] })
      return resources[0].configEntries.find(({ configName }) => configName === 'retention.ms')
    }
    assert.strictEqual((await retention()).configValue, '777')
    const configEntries = [{ name: 'retention.ms', value: '888' }]
    await admin.alterConfigs({ resources: [{ ...resource, configEntries }] })
    assert.strictEqual((await retention()).configValue, '888')
  },

  async 'the cluster is described'() {
    const { brokers, controller, clusterId } = await admin.describeCluster()
    assert.strictEqual(brokers.length, 1)
    assert.strictEqual(controller, brokers[0].nodeId)
    assert(clusterId)
  },

  async 'a message that is too large is refused'() {
    const topic = await createTopic({ configs: { 'max.message.bytes': '1000' } })
    await assert.rejects(send(topic, ['x'.repeat(5000)]), /larg/i)
  },

  async 'groups are listed and described, their offsets read and set'() {
    const topic = await createTopic({ partitions: 2 })
    await send(topic, [{ partition: 0, value: 'a' }, { partition: 1, value: 'b' }])
    const { groupId } = await read(topic, 2, { run: { autoCommitThreshold: 1 } })
    const { groups } = await admin.listGroups()
    assert(groups.some((group) => group.groupId === groupId))
    const described = await admin.describeGroups([groupId])
    assert.strictEqual(described.groups[0].state, 'Empty')
    const offsetOf = async (index) => {
      const [{ partitions }] = await admin.fetchOffsets({ groupId, topics: [topic] })
      return partitions.find(({ partition }) => partition === index).offset
    }
    assert.strictEqual(await offsetOf(0), '1')
    await admin.setOffsets({ groupId, topic, partitions: [{ partition: 0, offset: '0' }] })
    assert.strictEqual(await offsetOf(0), '0')
    assert.deepStrictEqual(values(await read(topic, 1, { groupId })), ['a'])
  },

  async 'a group is deleted'() {
    const topic = await createTopic()
    await send(topic, ['a'])
    const { groupId } = await read(topic, 1, { run: { autoCommitThreshold: 1 } })
    await admin.deleteGroups([groupId])
    const { groups } = await admin.listGroups()
    assert(!groups.some((group) => group.groupId === groupId))
  },

  async 'two members share the partitions, and one takes over'() {
    const topic = await createTopic({ partitions: 4 })
    const groupId = `group-${randomUUID()}`
    const members = [kafka.consumer({ groupId, maxWaitTimeInMs: 200 }), kafka.consumer({ groupId, maxWaitTimeInMs: 200 })]
    const assigned = [[], []]
    const seen = new Set()
    for (const [index, member] of members.entries()) {
      member.on(member.events.GROUP_JOIN, ({ payload }) => {
        assigned[index] = payload.memberAssignment[topic] ?? []
      })
      await member.connect()
      await member.subscribe({ topic, fromBeginning: true })
      await member.run({ eachMessage: async ({ partition }) => void seen.add(partition) })
    }
    await until(() => assigned.every(({ length }) => length === 2), 'an even share')
    await send(topic, [0, 1, 2, 3].map((partition) => ({ partition, value: 'x' })))
    await until(() => seen.size === 4, 'a message of each partition')
    await members[1].disconnect()
    await until(() => assigned[0].length === 4, 'the one left to have all')
    await members[0].disconnect()
  },

  async 'seek, pause and resume'() {
    const topic = await createTopic()
    await send(topic, ['0', '1', '2'])
    const { consumer, got } = await consume(topic)
    await until(() => got.length >= 3, 'all of them')
    consumer.seek({ topic, partition: 0, offset: '1' })
    await until(() => got.length >= 5, 'two of them again')
    consumer.pause([{ topic }])
    await send(topic, ['later'])
    await sleep(500)
    assert.strictEqual(got.length, 5)
    consumer.resume([{ topic }])
    await until(() => got.length >= 6, 'the one that came in the pause')
    await consumer.disconnect()
  },

  async 'topics by a pattern'() {
    const prefix = `kafkajs-pattern-${randomUUID()}`
    const topics = ['a', 'b'].map((end) => ({ topic: `${prefix}-${end}` }))
    await admin.createTopics({ topics })
    for (const { topic } of topics) await send(topic, ['x'])
    assert.strictEqual((await read(new RegExp(`${prefix}-.*`), 2)).length, 2)
  },

  async 'offsets are committed by hand, with metadata'() {
    const topic = await createTopic()
    await send(topic, ['1', '2'])
    const groupId = `group-${randomUUID()}`
    const consumer = kafka.consumer({ groupId, maxWaitTimeInMs: 200 })
    await consumer.connect()
    await consumer.subscribe({ topic, fromBeginning: true })
    let committed = false
    const eachBatch = async () => {
      await consumer.commitOffsets([{ topic, partition: 0, offset: '2', metadata: 'noted' }])
      committed = true
    }
    await consumer.run({ autoCommit: false, eachBatch })
    await until(() => committed, 'the commit')
    await consumer.disconnect()
    const [{ partitions }] = await admin.fetchOffsets({ groupId, topics: [topic] })
    assert.deepStrictEqual([partitions[0].offset, partitions[0].metadata], ['2', 'noted'])
  },

  async 'a transaction is seen when it is committed'() {
    const topic = await createTopic({ partitions: 2 })
    const transactional = newProducer({ transactionalId: randomUUID(), idempotent: true })
    await transactional.connect()
    const transaction = await transactional.transaction()
    const messages = [{ partition: 0, value: 'a' }, { partition: 1, value: 'b' }]
    await transaction.send({ topic, messages })
    const { consumer, got } = await consume(topic)
    await sleep(1000)
    assert.strictEqual(got.length, 0)
    await transaction.commit()
    await until(() => got.length === 2, 'what was committed')
    await consumer.disconnect()
    await transactional.disconnect()
  },

  async 'an aborted transaction is never seen'() {
    const topic = await createTopic()
    const transactional = newProducer({ transactionalId: randomUUID(), idempotent: true })
    await transactional.connect()
    const aborted = await transactional.transaction()
    await aborted.send({ topic, messages: [{ value: 'aborted' }] })
    await aborted.abort()
    const committed = await transactional.transaction()
    await committed.send({ topic, messages: [{ value: 'committed' }] })
    await committed.commit()
    assert.deepStrictEqual(values(await read(topic, 1)), ['committed'])
    await transactional.disconnect()
  },

  async 'offsets are part of a transaction'() {
    const topic = await createTopic()
    await send(topic, ['in'])
    const { groupId } = await read(topic, 1, { run: { autoCommit: false } })
    const offsets = (offset) => ({
      consumerGroupId: groupId,
      topics: [{ topic, partitions: [{ partition: 0, offset }] }],
    })
    const transaction = async () => {
      const transactional = newProducer({ transactionalId: randomUUID(), idempotent: true })
      await transactional.connect()
      return transactional.transaction()
    }
    const aborted = await transaction()
    await aborted.sendOffsets(offsets('7'))
    await aborted.abort()
    const committed = await transaction()
    await committed.sendOffsets(offsets('1'))
    await committed.commit()
    await until(async () => {
      const [{ partitions }] = await admin.fetchOffsets({ groupId, topics: [topic] })
      return partitions[0].offset === '1'
    }, 'the committed offset')
  },

  async 'a second producer of a transactional id fences the first'() {
    const topic = await createTopic()
    const transactionalId = randomUUID()
    const options = { transactionalId, idempotent: true, maxInFlightRequests: 1 }
    const [first, second] = [newProducer(options), newProducer(options)]
    await first.connect()
    const open = await first.transaction()
    await open.send({ topic, messages: [{ value: 'first' }] })
    await second.connect()
    const later = await second.transaction()
    await later.send({ topic, messages: [{ value: 'second' }] })
    await assert.rejects(open.commit())
    await later.commit()
    assert.deepStrictEqual(values(await read(topic, 1)), ['second'])
    await first.disconnect()
    await second.disconnect()
  },
}

function withTimeout(check) {
  const late = sleep(CHECK_MS).then(() => assert.fail(`took longer than ${CHECK_MS} ms`))
  return Promise.race([check(), late])
}

async function main() {
  await admin.connect()
  await producer.connect()
  for (const [name, check] of Object.entries(checks)) {
    if (selected.length && !selected.includes(name)) continue
    try {
      await withTimeout(check)
      console.log(`ok - ${name}`)
    } catch (error) {
      console.log(`not ok - ${name}\n  ${error.stack.replaceAll('\n', '\n  ')}`)
    }
  }
  process.exit(0)
}

main()
