/** Readers and writers of JSON, and of the formats that ksqlDB writes, byte for byte. */
package org.duolog.kernel.functions.format;
