/**
 * Stores of windowed aggregates: rows by window, the order in which windows close, and what was
 * emitted before.
 */
package org.duolog.kernel.store.window;
