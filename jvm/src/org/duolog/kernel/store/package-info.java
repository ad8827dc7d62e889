/**
 * State stores over Spark's state: rows by key, by bucket and by time, their sizes and their
 * changelogs.
 */
package org.duolog.kernel.store;
