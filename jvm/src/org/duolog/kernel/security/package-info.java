/**
 * Logins and certificates of Kafka's clients in this JVM, without a secret in their settings.
 * Imports nothing else of the kernel.
 */
package org.duolog.kernel.security;
