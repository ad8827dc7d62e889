/**
 * State stores over Spark's state: rows by key, by bucket and by time, their sizes and their
 * changelogs.
 *
 * <p>By node: aggregates and tables use {@code KeyValueStore} and {@code ExpiringRows},
 * stream-stream joins {@code StreamJoinRows} and {@code UnmatchedJoinRows}, streams that wait for
 * versions of a table {@code TimeOrderedRecords}. The rows of windows are in {@code store.window}.
 */
package org.duolog.kernel.store;
