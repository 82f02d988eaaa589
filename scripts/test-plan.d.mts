export interface Need {
  readonly name: string
  readonly package?: string
  readonly how?: string
  readonly tests: readonly string[]
}

export interface Run {
  readonly tests: readonly string[]
  /** Of these, some that another run has. */
  readonly except?: readonly string[]
  readonly workers: number
  /** How far it stands back for others: that of nice(1). */
  readonly nice?: number
  /** Its files share their modules. */
  readonly isShared?: boolean
}

/** Runs, one after another. */
export type Lane = readonly Run[]

export interface Plan {
  readonly rounds: readonly (readonly Lane[])[]
  readonly leftOut: readonly string[]
  readonly lines: readonly string[]
  readonly isRefused: boolean
}

export const needs: readonly Need[]
export const rounds: readonly (readonly Lane[])[]
export function planOf(given: {
  readonly missing: readonly string[]
  readonly args?: readonly string[]
  readonly ci?: string | undefined
}): Plan
