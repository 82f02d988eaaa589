import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { LeadContext, RunContext } from '@baton-lock/client'

/** The grant that CMD runs under. A leader is not told of attempts. */
export type CommandGrant = Pick<LeadContext, 'node' | 'fence' | 'signal'> &
  Partial<Pick<RunContext, 'attempt' | 'previous' | 'waiters' | 'noEffect'>>

/** The environment of CMD, and the file that goes with it. */
interface CommandEnvironment {
  readonly env: NodeJS.ProcessEnv
  /** To be called once CMD has ended. */
  remove(): void
}

/**
 * Adds what CMD may want to know. Variables that do not apply are taken out: they may be those of a `baton run` around this
 * one. Throws if those who wait for what is to be deleted cannot be read.
 */
export async function environmentOf(
  { operation, resource }: { readonly operation: string; readonly resource: string },
  grant: CommandGrant,
  env: NodeJS.ProcessEnv,
): Promise<CommandEnvironment> {
  const { node, fence, attempt, previous } = grant
  const folder = operation === 'delete' && fence > 0 && grant.waiters ? await waitersFolder(grant.waiters) : undefined
  return {
    env: {
      ...env,
      BATON_OPERATION: operation,
      BATON_RESOURCE: resource,
      BATON_NODE: node,
      BATON_FENCE: String(fence),
      BATON_ATTEMPT: attempt === undefined ? undefined : String(attempt),
      BATON_PREVIOUS_NODE: previous?.node,
      BATON_PREVIOUS_OUTCOME: previous?.outcome,
      // A zero byte would end the variable, so Node refuses it.
      BATON_PREVIOUS_ERROR: previous?.error?.replaceAll('\0', '\ufffd'),
      BATON_WAITERS_FILE: folder && join(folder, WAITERS),
    },
    remove: () => folder && rmSync(folder, { recursive: true, force: true }),
  }
}

const WAITERS = 'waiters.jsonl'

/** A line of JSON for each who waits, oldest first, in a file that only this user can read. */
async function waitersFolder(waiters: RunContext['waiters']): Promise<string> {
  const lines = (await waiters()).map((waiter) => `${JSON.stringify(waiter)}\n`)
  const folder = mkdtempSync(join(tmpdir(), 'baton-'))
  writeFileSync(join(folder, WAITERS), lines.join(''), { mode: 0o600 })
  return folder
}
