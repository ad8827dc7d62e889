// The reader, for parts that are used without the shell.
import { signal } from "@preact/signals";

/** The user who has logged in to a server with users; empty on a server without them. */
export const reader = signal("");
