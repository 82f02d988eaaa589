import type { ServiceRequest, WireEvent } from '@baton-lock/protocol'
import { policySchema, requestSchemas } from '@baton-lock/protocol/schemas'
import { Service } from '@baton-lock/service'
import { SimulatedClock, settled } from '@baton-lock/store/conformance'
import { openMemoryStore } from '@baton-lock/store/memory'
import type { Address, Store } from '@baton-lock/store/store'
import { type Acknowledge, type Acquire, type Facts, SHARED_HOLD } from '../src/index.ts'

/*
 * A scenario is a text file: comments (#), commands, and under each command, indented, what it printed: the reply, then
 * the events that it caused (>). The language is in README.md beside this file.
 */

/** Runs a scenario and returns it with the output as it is now. */
export async function runScenario(text: string): Promise<string> {
  const lines = text.split('\n').filter((line) => !/^\s+\S/.test(line))
  const world = new World()
  const written: string[] = []
  for (const line of lines) {
    written.push(line)
    if (line.trim() === '' || line.startsWith('#')) continue
    for (const printed of await world.perform(line)) written.push(`  ${printed}`)
  }
  await world.close()
  return written.join('\n')
}

type Options = Record<string, string>
type Reply = Record<string, unknown> & { status: string }

class World {
  readonly #clock = new SimulatedClock()
  readonly #startMs = this.#clock.nowMs()
  readonly #fences = new Map<string, number>()
  readonly #policy: { namespaces: Record<string, Record<string, unknown>> } = { namespaces: { default: {} } }
  #service: Service | undefined
  #store: Store | undefined
  #printed: string[] = []

  async perform(line: string): Promise<string[]> {
    this.#printed = []
    const words = line.match(/(?:[^\s"{]+|"[^"]*"|\{[^}]*\})+/g) ?? []
    if (words[0] === 'policy') this.#setPolicy(words.slice(1))
    else if (words[0] === 'advance') await this.#clock.advance(duration(words[1]!))
    else if (words[0] === 'show')
      this.#print(showResource(await this.#call('get-resource', { resource: unquote(words[1]!) })))
    else if (words[0] === 'listen') await this.#listen(words[1]!, words.slice(2))
    else await this.#ask(words)
    await settled()
    return this.#printed
  }

  async close(): Promise<void> {
    await this.#service?.close()
  }

  /** `A/owner#hold verb operation resource options…`, `A verb session`, `refs add resource node`. */
  async #ask([who = '', verb = '', ...about]: string[]): Promise<void> {
    if (who === 'refs') return this.#references(verb, about.map(unquote))
    const [, node = '', owner = node, hold = SHARED_HOLD] = /^([^/#]+)(?:\/([^#]+))?(?:#(.+))?$/.exec(who) ?? []
    if (verb.endsWith('-session')) return this.#session({ node, verb, about })
    const [operation = '', resource = '', ...words] = about.map(unquote)
    const options = optionsOf(words)
    const place = { operation, resource, ...(options.namespace && { namespace: options.namespace }) }
    const name = JSON.stringify([place, node, owner])
    const fence = options.fence ? Number(options.fence) : this.#fences.get(name)
    const actor = { owner, ...(options.named !== undefined && { node }) }
    const held = { ...place, ...actor, hold }
    const facts = options.token === undefined ? {} : { actsFor: options.token.split(',') }
    switch (verb) {
      case 'asks':
      case 'claims': {
        const asked = { ...held, node, ...acquireOptions(options) }
        const reply =
          options.classic === undefined
            ? await this.#call('acquire', asked, facts)
            : await this.#classic({ ...asked, namespace: 'default' }, facts)
        if (reply.status === 'granted') this.#fences.set(name, Number(reply.fence))
        return this.#print(printed(reply, this.#startMs))
      }
      case 'succeeds': {
        const result = options.result === undefined ? {} : { result: JSON.parse(options.result) }
        const effect = options.effect === undefined ? {} : { effect: options.effect }
        const kept = options.keep === undefined ? {} : { keepMs: duration(options.keep) }
        const told = { ...result, ...effect, ...kept, ...spanOf(options) }
        return this.#reply('release', { ...held, fence, outcome: 'success', ...told }, facts)
      }
      case 'fails': {
        const permanent = options.permanent === undefined ? {} : { permanent: true }
        const error = options.error ?? 'boom'
        const told = { error, ...permanent, ...spanOf(options) }
        return this.#reply('release', { ...held, fence, outcome: 'failure', ...told }, facts)
      }
      case 'gives-up':
        return this.#reply('release', { ...held, fence, outcome: 'cancelled' }, facts)
      case 'cancels':
        return this.#reply('cancel', held, facts)
      case 'acknowledges':
        return this.#print(printed(await this.#acknowledge({ namespace: 'default', ...held }, facts), this.#startMs))
      case 'renews':
        return this.#reply('renew', { ...place, ...actor, ...(fence !== undefined && { fence }) }, facts)
      case 'reports': {
        const progress = JSON.parse(options.progress ?? 'null')
        return this.#reply('progress', { ...place, ...actor, fence, progress }, facts)
      }
      case 'leaves':
        return this.#reply('leave-place', { ...place, owner, session: options.session })
      case 'revokes':
        return this.#reply('revoke', {
          ...place,
          ...(options.fence && { fence: Number(options.fence) }),
          ...(options.by && { by: options.by }),
        })
      case 'forgets':
        return this.#reply('forget', { ...place, ...(options.fence && { fence: Number(options.fence) }) })
      default:
        throw new Error(`no such verb: ${verb}`)
    }
  }

  async #session({
    node,
    verb,
    about: [session = '', ...words],
  }: {
    node: string
    verb: string
    about: string[]
  }): Promise<void> {
    const { ttl } = optionsOf(words)
    if (verb === 'opens-session')
      return this.#reply('open-session', { session, node, ...(ttl && { ttlMs: duration(ttl) }) })
    if (verb === 'renews-session') return this.#reply('renew-session', { session })
    return this.#reply('close-session', { session })
  }

  async #references(verb: string, [resource = '', node = '', ...words]: string[]): Promise<void> {
    const { seen } = optionsOf(words)
    const asked = { resource, node, ...(seen && { seen: Number(seen) }) }
    if (verb === 'add') return this.#reply('add-reference', asked)
    if (verb === 'release') return this.#reply('release-reference', asked)
    return this.#reply('drop-node', { node: resource })
  }

  async #listen(who: string, [operation = '', resource = '', ...words]: string[]): Promise<void> {
    const scope = { of: 'ask', namespace: 'default', operation, resource, owner: who, hold: SHARED_HOLD } as const
    const { token } = optionsOf(words)
    const hear = (event: WireEvent) => this.#print(`${who} hears: ${printedEvent(event, this.#startMs)}`)
    await (await this.#live()).listen(scope, hear, { actsFor: token?.split(',') })
  }

  #setPolicy(words: string[]): void {
    if (this.#service) throw new Error('the policy comes first')
    const space: Record<string, unknown> = this.#policy.namespaces.default!
    const [first = '', ...row] = words
    if (first.includes('=')) Object.assign(space, typed(optionsOf(words)))
    else space.operations = { ...(space.operations as object | undefined), [first]: typed(optionsOf(row)) }
  }

  async #live(): Promise<Service> {
    if (!this.#service) {
      const store = openMemoryStore({ clock: this.#clock, policy: policySchema.parse(this.#policy) })
      this.#store = store
      this.#service = new Service({ store, timers: this.#clock })
      await this.#service.listen({ of: 'all' }, (event) => {
        if (event.type !== 'state') this.#print(`> ${printedEvent(event, this.#startMs)}`)
      })
    }
    return this.#service
  }

  async #call(type: keyof typeof requestSchemas, fields: object, facts: Facts = {}): Promise<Reply> {
    const checked = requestSchemas[type].safeParse({ type, ...fields })
    if (!checked.success) return { status: 'bad-request', message: checked.error.issues[0]!.message }
    return (await (await this.#live()).call(checked.data as ServiceRequest, facts)) as unknown as Reply
  }

  /** As the classic paths ask. */
  async #classic(fields: object, facts: Facts): Promise<Reply> {
    const { namespace, resource, ...more } = fields as Omit<Acquire, 'type' | 'ttlMs'> & Address
    const command = { ttlMs: 3_600_000, ...more, type: 'acquire', classic: true } as const
    return (await (await this.#live()).command({ namespace, resource }, command, facts)) as unknown as Reply
  }

  /** As a server does for a client that has heard how its ask ended. */
  async #acknowledge(ask: Omit<Acknowledge, 'type'> & Address, facts: Facts): Promise<Reply> {
    await this.#live()
    return { ...(await this.#store!.step(ask, { ...ask, type: 'acknowledge' }, facts)) }
  }

  async #reply(type: keyof typeof requestSchemas, fields: object, facts?: Facts): Promise<void> {
    this.#print(printed(await this.#call(type, fields, facts), this.#startMs))
  }

  /** Events are heard while the command still runs; the reply is what a reader wants to see first. */
  #print(line: string): void {
    if (line.startsWith('>') || line.includes(' hears: ')) this.#printed.push(line)
    else this.#printed.unshift(line)
  }
}

function acquireOptions(options: Options): object {
  return {
    ...(options.session && { session: options.session }),
    ...(options.ttl && { ttlMs: duration(options.ttl) }),
    ...(options.wait && { waitMs: duration(options.wait) }),
    ...(options.revision && { revision: options.revision }),
    ...(options.disbelieve && { disbelieve: Number(options.disbelieve) }),
    ...(options.force !== undefined && { disbelieve: Number.MAX_SAFE_INTEGER }),
    ...(options.verified !== undefined && { verified: true }),
    ...(options.verifies !== undefined && { verifies: true }),
    ...(options['no-reference'] !== undefined && { reference: false }),
    ...(options['drop-reference'] !== undefined && { dropReference: true }),
    ...(options['no-queue'] !== undefined && { queueing: false }),
    ...(options.queue !== undefined && { queueing: true }),
  }
}

/** A span by one digit: the scenarios do not show how it is written. */
function spanOf({ span }: Options): { traceparent?: string } {
  return span === undefined ? {} : { traceparent: `00-${span.repeat(32)}-${span.repeat(16)}-01` }
}

function optionsOf(words: readonly string[]): Options {
  return Object.fromEntries(
    words.map((word) => {
      const at = word.indexOf('=')
      return at < 0 ? [word, ''] : [word.slice(0, at), unquote(word.slice(at + 1))]
    }),
  )
}

function typed(options: Options): object {
  const value = (text: string) =>
    text === 'true'
      ? true
      : text === 'false'
        ? false
        : /^\d+(ms|s|m|h)$/.test(text)
          ? duration(text)
          : /^\d+$/.test(text)
            ? Number(text)
            : text
  return Object.fromEntries(Object.entries(options).map(([key, text]) => [key, value(text)]))
}

function duration(text: string): number {
  const [, amount, unit] = /^([\d.]+)(ms|s|m|h)$/.exec(text) ?? []
  if (!unit) throw new Error(`not a duration: ${text}`)
  return Number(amount) * { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 }[unit as 'ms' | 's' | 'm' | 'h']
}

function unquote(word: string): string {
  return word.startsWith('"') ? JSON.parse(word) : word
}

/** A reply on one line: its status, then what else it says. Times are seconds since the scenario began. */
function printed({ status, message, ...more }: Reply, startMs: number): string {
  const text = status === 'bad-request' ? [String(message)] : fields(more, startMs)
  return [status, ...text].join(' ')
}

/** An event on one line. How long somebody held or waited shows in the commands. */
function printedEvent(event: WireEvent, startMs: number): string {
  const { type, namespace, resource, atMs, operation, node, owner, heldMs, waitedMs, ...more } = event as Record<
    string,
    unknown
  > & { type: string }
  const key = [operation, resource].filter((word) => word !== undefined).map((word) => quoted(word))
  const who =
    node === undefined
      ? []
      : [owner === undefined || owner === node ? quoted(node) : `${quoted(node)}/${quoted(owner)}`]
  const space = namespace === 'default' || namespace === undefined ? [] : [`namespace=${namespace}`]
  return [type, ...who, ...key, ...space, ...fields(more, startMs)].join(' ')
}

function fields(values: Record<string, unknown>, startMs: number): string[] {
  return Object.entries(values)
    .filter(([, value]) => value !== undefined)
    .flatMap(([key, value]) => {
      if (key === 'outcome' && typeof value === 'object') return fields(value as Record<string, unknown>, startMs)
      return `${key.replace(/Ms$/, '')}=${fieldOf(key, value, startMs)}`
    })
}

function fieldOf(key: string, value: unknown, startMs: number): string {
  if (key === 'traceparent') return String(value).replace(/^00-(.)\1{31}-\1{16}-01$/, 'span-$1')
  if (/^(at|since|until)Ms$/.test(key)) return `${(Number(value) - startMs) / 1_000}s`
  if (key === 'expiresInMs' || key === 'ttlMs') return `${Number(value) / 1_000}s`
  if (typeof value === 'object' && value !== null && 'status' in value) return `(${printed(value as Reply, startMs)})`
  if (key === 'askers') return JSON.stringify((value as { node: string }[]).map(({ node }) => node))
  if (key === 'previous') return `(${fields(value as Record<string, unknown>, startMs).join(' ')})`
  return quoted(value)
}

function quoted(value: unknown): string {
  return typeof value === 'string' && /^[^\s"=()]+$/.test(value) ? value : JSON.stringify(value)
}

function showResource(reply: Reply): string {
  const { grants, waiters, references, kept } = reply.resource as {
    grants: { operation: string; node: string; fence: number; holds: number; progress?: unknown }[]
    waiters: { operation: string; node: string }[]
    references: string[]
    kept: { operation: string; fence: number; revision?: string }[]
  }
  const progress = (value: unknown) => (value === undefined ? '' : ` ${JSON.stringify(value)}`)
  const parts = [
    `held by ${grants.map((grant) => `${grant.operation}:${grant.node}(fence ${grant.fence}, holds ${grant.holds}${progress(grant.progress)})`).join(' ') || 'nobody'}`,
    `waiting ${waiters.map((waiter) => `${waiter.operation}:${waiter.node}`).join(' ') || 'nobody'}`,
    `references ${references.join(' ') || 'none'}`,
    `kept ${kept.map((success) => `${success.operation}(fence ${success.fence}${success.revision ? `, revision ${success.revision}` : ''})`).join(' ') || 'nothing'}`,
  ]
  return parts.join(' · ')
}
