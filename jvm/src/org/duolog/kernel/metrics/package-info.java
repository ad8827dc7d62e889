/**
 * Counters of tasks, nodes, sinks and epochs; skipped records, dead letters and the processing log.
 */
package org.duolog.kernel.metrics;
