/**
 * How Kafka's clients in this JVM authenticate and encrypt, without a secret in their settings.
 * Imports nothing else of the kernel.
 */
package org.duolog.kernel.security;
