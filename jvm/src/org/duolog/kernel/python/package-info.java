/**
 * Calls of Python functions and processors in worker processes, or in the process that started the
 * query.
 */
package org.duolog.kernel.python;
