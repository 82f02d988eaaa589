export interface Need {
  readonly name: string
  readonly package?: string
  readonly how?: string
}

export interface TestFile {
  readonly path: string
  /** Names of `needs`. */
  readonly needs: readonly string[]
}

export interface Lane {
  readonly name: string
  readonly paths: readonly string[]
  readonly workers: number
  /** How far it stands back for others: that of nice(1). */
  readonly nice: number
}

export interface Plan {
  readonly rounds: readonly (readonly Lane[])[]
  readonly flags: readonly string[]
  readonly lines: readonly string[]
  readonly isRefused: boolean
}

export const needs: Readonly<Record<string, readonly Need[]>>
export function testFiles(root: string): readonly TestFile[]
export function planOf(given: {
  readonly files: readonly TestFile[]
  readonly missing: readonly string[]
  readonly args?: readonly string[]
  readonly ci?: string | undefined
}): Plan
