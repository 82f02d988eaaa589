/* What one attack is: something that a client may send, and that nobody else may notice. */

/** Where the server is, and what the attacker has in its hands. */
export interface Target {
  readonly url: string
  readonly port: number
  /** Of the node `attacker`, of somebody who only looks, and of the operator who prepares the ground. */
  readonly tokens: Readonly<Record<Role, string>>
  /** The attack is over. */
  readonly signal: AbortSignal
}

export type Role = 'node' | 'observe' | 'admin'

export interface Attack {
  readonly name: string
  /** What it does, for who reads the table. */
  readonly does: string
  /** Without tokens anybody may come in. Default: the server has tokens. */
  readonly isOpen?: boolean
  /** What it builds up before the victim is measured beside it. */
  prepare?(target: Target): Promise<void>
  /** Until the signal says that it is over. What it returns is what it has seen and should not have. */
  run(target: Target): Promise<readonly string[] | undefined>
}
