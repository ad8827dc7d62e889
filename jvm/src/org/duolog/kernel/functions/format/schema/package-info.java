/** Formats whose bytes have a schema in a registry: Avro, JSON_SR and Protobuf. */
package org.duolog.kernel.functions.format.schema;
