/** A change to one source file that the checks must notice. */
export interface Bug {
  readonly name: string
  /** Its path from the root of the repository. */
  readonly file: string
  /** Occurs exactly once in the file. */
  readonly find: string
  readonly replace: string
  /** The simulator, or at least one of the tests that `vitest run` selects with these arguments: one path, and flags. */
  readonly caughtBy: 'simulator' | { readonly tests: readonly [path: string, ...flags: string[]] }
}
