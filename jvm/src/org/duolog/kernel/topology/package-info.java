/**
 * Sub-topologies: readers of topics, the levels that Spark runs as stateful operators, and what
 * builds both.
 */
package org.duolog.kernel.topology;
