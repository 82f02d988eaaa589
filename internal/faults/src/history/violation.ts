/** An invariant that did not hold. The numbers are those of docs/guarantees.md. */
export interface Violation {
  readonly invariant: number
  readonly resource: string
  readonly what: string
}
