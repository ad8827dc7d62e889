/**
 * A running task: its context, the base classes of nodes and stores, and the order in which it
 * takes records.
 */
package org.duolog.kernel.task;
