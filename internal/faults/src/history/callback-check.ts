import type { CallbackRecord, CallRecord, ClientRecord, StepRecord } from './history.ts'
import type { Violation } from './violation.ts'

interface Running extends CallbackRecord {
  lost: boolean
}

/** What clients did: no callback runs twice, none without a claimed grant, and a loss is known before the next grant. */
export class CallbackCheck {
  readonly #violations: Violation[]
  readonly #running = new Map<string, Running>()
  readonly #granted = new Map<string, { owner: string; claimed: boolean }>()
  readonly #succeeded = new Set<string>()
  readonly #begun = new Set<string>()
  readonly #paused = new Set<string>()

  constructor(violations: Violation[]) {
    this.#violations = violations
  }

  take(record: CallbackRecord): void {
    const { what, resource, fence, client, call } = record
    const name = `${resource} ${fence}`
    if (what === 'began') {
      const grant = this.#granted.get(name)
      if (fence > 0 && !grant?.claimed)
        this.#violated(9, resource, `${client} began fence ${fence} before its claim was acknowledged`)
      if (this.#begun.has(`${client} ${call}`))
        this.#violated(14, resource, `call ${call} of ${client} ran its callback twice`)
      this.#begun.add(`${client} ${call}`)
      this.#running.set(`${client} ${call}`, { ...record, lost: false })
    } else if (what === 'lost') {
      const running = this.#running.get(`${client} ${call}`)
      if (running) running.lost = true
    } else this.#running.delete(`${client} ${call}`)
  }

  takeStep({ resource, events, command, reply }: StepRecord): void {
    // Of several holds only the last release ends the grant, but each of them was work well done.
    if (command.type === 'release' && reply.status === 'released' && command.outcome === 'success') {
      this.#succeeded.add(`${resource} ${command.fence}`)
    }
    for (const { event } of events) {
      if (event.type === 'ended' && event.outcome.outcome === 'expired') this.#expired(resource, event.fence)
      if (event.type === 'granted')
        this.#granted.set(`${resource} ${event.fence}`, { owner: event.owner, claimed: !event.handOver })
      const claimed = event.type === 'claimed' ? this.#granted.get(`${resource} ${event.fence}`) : undefined
      if (claimed) claimed.claimed = true
      if (event.type === 'ended' && event.outcome.outcome === 'success')
        this.#succeeded.add(`${resource} ${event.fence}`)
    }
  }

  takeClient({ client, what }: ClientRecord): void {
    if (what === 'paused') this.#paused.add(client)
    if (what === 'resumed' || what === 'crashed') this.#paused.delete(client)
    if (what !== 'crashed') return
    for (const [name, running] of this.#running) if (running.client === client) this.#running.delete(name)
  }

  /** A client whose clock runs knows that it has lost its grant before the store ends it. */
  #expired(resource: string, fence: number): void {
    for (const running of this.#running.values()) {
      if (running.resource !== resource || running.fence !== fence || running.lost || this.#paused.has(running.client))
        continue
      this.#violated(17, resource, `fence ${fence} expired while ${running.client} ran under it and had not been told`)
    }
  }

  takeCall({ status, resource, fence, client }: CallRecord): void {
    if (status !== 'performed' && status !== 'skipped') return
    if (fence > 0 && !this.#succeeded.has(`${resource} ${fence}`)) {
      this.#violated(5, resource, `${client} was told ${status} on fence ${fence}, which never succeeded`)
    }
  }

  #violated(invariant: number, resource: string, what: string): void {
    this.#violations.push({ invariant, resource, what })
  }
}
