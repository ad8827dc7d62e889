/**
 * State that comes from another checkpoint: restored from changelogs, moved to other tasks, or read
 * by a person.
 */
package org.duolog.kernel.state;
