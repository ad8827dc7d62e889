/**
 * Spark's Kafka sources and sink as the kernel uses them: how far a micro-batch reads, real-time
 * readers and producers.
 */
package org.duolog.kernel.kafka;
