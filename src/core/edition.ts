/**
 * The rules have changed four times. A store that keeps what was done, and does it again when it is read, must come to what was
 * answered then: so what it did under an older edition is decided by that one.
 *
 * 2: nobody skips past a delete, a reference says nothing of a revision, and more of docs/rules.md. 3: `once` and `lead` are
 * rows of the table. 4: the namespace `content` is built in. 5: what one client can
 * grow has a limit (`core/quota.ts`).
 */
export const EDITION = 5
