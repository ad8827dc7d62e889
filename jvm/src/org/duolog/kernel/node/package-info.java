/**
 * The operators of a topology, one class for each kind, and the graph that builds them from the
 * spec.
 */
package org.duolog.kernel.node;
