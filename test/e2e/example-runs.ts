import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { type AskOptions, type Baton, type Grant, SkippedError, UnavailableError } from '@baton-lock/client'
import { expect } from 'vitest'
import { openFolder, type Running, startProgram, until } from './cli-process.ts'

/** Programs of `examples/` as real processes, and what they wrote down about what they did. */

/** The processes that are waited for need the machine more. */
const LOOK_MS = 50
const NODES = ['a', 'b', 'c'] as const

// biome-ignore lint/suspicious/noExplicitAny: a line that an example wrote, each with what it has to say.
type Note = any

export class ExampleRuns {
  readonly #folder = openFolder()
  readonly #env: NodeJS.ProcessEnv

  constructor(env: { readonly BATON_URL: string; readonly BATON_NAMESPACE: string }) {
    this.#env = { ...env, NOTES: this.path('notes') }
  }

  path(name: string): string {
    return this.#folder.path(name)
  }

  start(program: string, node: string, env: NodeJS.ProcessEnv = {}): Running {
    const path = fileURLToPath(new URL(`../../examples/${program}.mjs`, import.meta.url))
    return startProgram(process.execPath, [path], { env: { ...this.#env, BATON_NODE: node, ...env } })
  }

  startThree(program: string, env?: NodeJS.ProcessEnv): Running[] {
    return NODES.map((node) => this.start(program, node, env))
  }

  /** What all processes did so far, or all that did this, in the order in which they wrote it. */
  notes(did?: string): Note[] {
    const lines = this.#folder.read('notes').split('\n').slice(0, -1)
    return lines.map((line) => JSON.parse(line)).filter((note) => did === undefined || note.did === did)
  }

  remove(): void {
    this.#folder.remove()
  }
}

/** That a result is too large to be told, and what Node says with the first warning of a process. */
const NOTICE =
  /^\(node:\d+\) BatonNotice: the result of .* is not told to others: .*\n\(Use `node --trace-warnings .*\n/gm

export async function endWell(processes: readonly Running[]): Promise<void> {
  for (const { ended } of processes) {
    const { code, stdout, stderr } = await ended
    expect({ code, stdout, stderr: stderr.replaceAll(NOTICE, '') }).toEqual({ code: 0, stdout: '', stderr: '' })
  }
}

interface Work {
  readonly operation: string
  readonly resource: string
  readonly ask?: AskOptions
}

/**
 * Takes the work itself as soon as the store lets anybody do it: when what was kept is over by the store's own clock. Then
 * lets as many stand in line as shall come at the same moment, and leaves it to them.
 */
export async function openDay(baton: Baton, work: Work) {
  const { resource, ask: { namespace } = {} } = work
  const grant = await until(`the success of ${resource} is over`, () => tryTake(baton, work))
  return {
    async begin(count: number, before?: () => Promise<unknown>): Promise<void> {
      await until(`${count} wait for ${resource}`, async () => {
        const isFull = (await baton.waiters(resource, { namespace })).length === count
        if (!isFull) await sleep(LOOK_MS)
        return isFull
      })
      await before?.()
      await grant.cancel()
    },
  }
}

async function tryTake(baton: Baton, { operation, resource, ask }: Work): Promise<Grant | undefined> {
  try {
    return (await baton.tryAcquire(operation, resource, ask)) ?? undefined
  } catch (error) {
    // On a busy machine an answer may come later than somebody who does not want to wait hears it.
    if (!(error instanceof SkippedError || error instanceof UnavailableError)) throw error
    await sleep(LOOK_MS)
    return undefined
  }
}
