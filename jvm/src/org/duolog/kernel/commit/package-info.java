/**
 * Checkpoints, commit topics and transactions: everything that makes a micro-batch or an epoch
 * durable exactly once. Imports nothing else of the kernel.
 */
package org.duolog.kernel.commit;
