// KafkaJS behind the interface of @confluentinc/kafka-javascript, as far as the tests of the registry use it.

const { randomUUID } = require('node:crypto')
const kafkajs = require('kafkajs')

class Kafka {
  constructor({ kafkaJS }) {
    this.kafka = new kafkajs.Kafka({ logLevel: kafkajs.logLevel.NOTHING, ...kafkaJS })
  }

  producer({ kafkaJS: { acks, compression, ...options } }) {
    const producer = this.kafka.producer(options)
    const send = producer.send.bind(producer)
    return { ...producer, send: (records) => send({ acks, compression, ...records }) }
  }

  consumer({ kafkaJS: { fromBeginning, groupId, ...options } }) {
    // The tests share one group, and some of its members read other topics: KafkaJS does not support this.
    const consumer = this.kafka.consumer({ groupId: `${groupId}-${randomUUID()}`, ...options })
    const subscribe = consumer.subscribe.bind(consumer)
    return { ...consumer, subscribe: (topics) => subscribe({ fromBeginning, ...topics }) }
  }
}

module.exports = { KafkaJS: { ...kafkajs, Kafka } }
