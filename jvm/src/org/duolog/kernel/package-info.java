/** The entry points for Python: build a query, start it, restore its state, or run it in memory. */
package org.duolog.kernel;
