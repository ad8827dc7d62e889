/**
 * The JSON spec of a query as records, the windows that it names, and the binding of its SQL
 * expressions to compiled programs.
 */
package org.duolog.kernel.spec;
