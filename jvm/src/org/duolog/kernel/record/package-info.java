/**
 * Records and their parts as they travel through the kernel: envelopes, changes, headers, origins
 * and the exceptions that name a record.
 */
package org.duolog.kernel.record;
