import type { Baton } from '@baton-lock/client'
import type { Call } from '../calls/call.ts'
import type { CallbackRecord, CallRecord } from '../history/history.ts'

/** A success of work that is done once: whoever asks for it later skips, and gets its result. */
interface Outcome {
  readonly operation: string
  readonly resource: string
  readonly fence: number
  readonly call: number
}

/** Errors of calls that have failed as they may; any other means that a grant or a place is gone. */
const EXPECTED = new Set([
  'WorkFailed',
  'PermanentError',
  'failed-for-good',
  'aborted',
  'busy',
  'wait-over',
  'unavailable',
])

/** What clients were told of changes, and may rely on from then on. Compares the server with it. */
export class Acknowledged {
  readonly failures: string[] = []
  readonly #onFailure: (what: string) => void
  readonly #counts = { acknowledged: 0, failed: 0, fences: 0, outcomes: 0, references: 0, checks: 0 }
  /** By client: the call that it makes. */
  readonly #calls = new Map<string, Call>()
  readonly #failed = new Set<string>()
  /** By key: the highest fence so far, and the client that works under it. */
  readonly #keys = new Map<string, { fence: number; client: string | undefined }>()
  readonly #outcomes: Outcome[] = []
  /** By resource and node: whether it has a reference. Nothing is known of one that is being changed. */
  readonly #references = new Map<string, Map<string, boolean>>()

  constructor(onFailure: (what: string) => void) {
    this.#onFailure = onFailure
  }

  get counts(): Readonly<Record<string, number>> {
    return this.#counts
  }

  lastOutcomes(count: number): readonly Outcome[] {
    return this.#outcomes.slice(-count)
  }

  begins(client: string, call: Call): void {
    this.#calls.set(client, call)
    this.#failed.delete(client)
    if (isOfReference(call)) this.#referencesOf(call.resource).delete(client)
  }

  ends(client: string, call: Call): void {
    if (this.#failed.has(client)) return
    this.#counts.acknowledged++
    if (!isOfReference(call)) return
    this.#referencesOf(call.resource).set(client, call.kind === 'add-reference')
    this.#counts.references++
  }

  record(record: CallbackRecord | CallRecord): void {
    if (record.kind === 'callback') this.#callback(record)
    else this.#call(record)
  }

  /** The success still stands. */
  async checkOutcome(baton: Baton, { operation, resource, fence, call }: Outcome): Promise<void> {
    const again = () => {
      throw new Error('the work was done again')
    }
    const done = await baton.run(operation, resource, again, { reference: false }).catch(String)
    const isThere =
      typeof done === 'object' &&
      done.status === 'skipped' &&
      done.fence === fence &&
      (done.result as { call?: number } | undefined)?.call === call
    this.expect(isThere, `the success of ${resource} with fence ${fence} is gone: ${JSON.stringify(done)}`)
  }

  /** Of this node, or of all nodes when nobody changes anything any more. */
  async checkReferences(baton: Baton, node?: string): Promise<void> {
    for (const [resource, known] of this.#references) {
      const expected = [...known].filter(([each]) => node === undefined || each === node)
      if (expected.length === 0) continue
      const found = await baton.references.list(resource)
      for (const [each, isThere] of expected)
        this.expect(
          found.includes(each) === isThere,
          `${each} was told that it has ${isThere ? 'a' : 'no'} reference to ${resource}, which has ${found.join()}`,
        )
    }
  }

  /** Nobody is left: no key is stuck, and fences go on rising. */
  async checkFree(baton: Baton): Promise<void> {
    for (const [key, { fence }] of this.#keys) {
      const [operation, resource] = key.split(' ') as [string, string]
      if (operation === 'pull') continue
      const grant = await baton.acquire(operation, resource, { waitMs: 0, force: true, reference: false }).catch(String)
      if (typeof grant === 'string') this.expect(false, `${key} is stuck: ${grant}`)
      else {
        this.expect(grant.fence > fence, `${key} was granted with fence ${grant.fence} after ${fence}`)
        await grant.cancel()
      }
    }
  }

  expect(isSo: boolean, otherwise: string): void {
    this.#counts.checks++
    if (isSo) return
    this.failures.push(otherwise)
    this.#onFailure(otherwise)
  }

  #callback({ what, client, operation, resource, fence }: CallbackRecord): void {
    const name = `${operation} ${resource}`
    const key = this.#keys.get(name) ?? { fence: 0, client: undefined }
    if (what === 'began') {
      this.#counts.fences++
      this.expect(fence > key.fence, `${client} was granted ${name} with fence ${fence} after ${key.fence}`)
      this.expect(key.client === undefined, `${client} was granted ${name} while ${key.client} worked on it`)
      this.#keys.set(name, { fence, client })
    } else if (what === 'ended') key.client = undefined
    // A call that is given up aborts its work itself.
    else if (this.#calls.get(client)?.abortAfterMs === undefined)
      this.expect(false, `${client} lost ${name} with fence ${fence}`)
  }

  #call({ client, call, operation, resource, status, fence, error = '' }: CallRecord): void {
    const made = this.#calls.get(client)!
    if (status === 'thrown') {
      this.#failed.add(client)
      this.#counts.failed++
      this.expect(EXPECTED.has(error), `${operation} of ${resource} failed for ${client}: ${error}`)
    }
    if (status !== 'performed' || operation !== 'pull' || made.ends !== 'success') return
    this.#outcomes.push({ operation, resource, fence, call })
    this.#counts.outcomes++
  }

  #referencesOf(resource: string): Map<string, boolean> {
    const known = this.#references.get(resource) ?? new Map<string, boolean>()
    this.#references.set(resource, known)
    return known
  }
}

function isOfReference({ kind }: Call): boolean {
  return kind === 'add-reference' || kind === 'release-reference'
}
