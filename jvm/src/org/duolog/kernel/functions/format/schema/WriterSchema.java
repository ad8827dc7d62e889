package org.duolog.kernel.functions.format.schema;

import java.util.Map;

/**
 * A schema as a registry returns it.
 *
 * @param id its id; 0 if it is not known
 * @param language AVRO, JSON or PROTOBUF
 * @param text of Avro the schema with what it refers to; of Protobuf a FileDescriptorProto in
 *     base64
 * @param files the files that it imports, directly or not: name to FileDescriptorProto in base64,
 *     in an order in which each file is after those that it imports; files that come with Protobuf
 *     are left out
 */
public record WriterSchema(int id, String language, String text, Map<String, String> files) {}
