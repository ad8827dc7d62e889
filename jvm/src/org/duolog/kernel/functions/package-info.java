/**
 * SQL functions and aggregates that Spark lacks, and the values and pages that they keep. Imports
 * only its formats.
 */
package org.duolog.kernel.functions;
