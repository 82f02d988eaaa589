import type { SessionReply, Store } from '@baton-lock/store/store'
import type { SessionRecord } from './history.ts'

interface RecordSessionsOptions {
  /** Records what is asked for too, before it is: whoever is killed meanwhile, or not answered, leaves that behind. */
  readonly asks?: boolean
}

/** The same store, with a record of every session's life. */
export function recordSessions(
  store: Store,
  record: (entry: SessionRecord) => void,
  { asks = false }: RecordSessionsOptions = {},
): Store {
  const ttls = new Map<string, number>()
  const about = (session: string) => ({ kind: 'session', session, ttlMs: ttls.get(session) ?? 0 }) as const
  const asking = async (session: string, what: 'opened' | 'renewed', ask: () => Promise<SessionReply>) => {
    const askedMs = store.nowMs()
    if (asks) record({ ...about(session), what: 'asked', nowMs: askedMs, askedMs })
    const reply = await ask()
    const isAlive = reply.status === 'alive'
    if (isAlive) ttls.set(session, reply.ttlMs)
    record({ ...about(session), what: isAlive ? what : 'refused', nowMs: store.nowMs(), askedMs })
    if (!isAlive) ttls.delete(session)
    return reply
  }
  return {
    id: store.id,
    nowMs: () => store.nowMs(),
    step: (address, command, facts) => store.step(address, command, facts),
    durable: () => store.durable(),
    acknowledge: (ask) => store.acknowledge?.(ask),
    read: (address, waiterLimit) => store.read(address, waiterLimit),
    waiters: (address, page) => store.waiters(address, page),
    standing: (ask) => store.standing(ask),
    lateSkip: (address, operation) => store.lateSkip(address, operation),
    list: (query, pace) => store.list(query, pace),
    openSession: (request) => asking(request.session, 'opened', () => store.openSession(request)),
    renewSession: (session) => asking(session, 'renewed', () => store.renewSession(session)),
    closeSession: async (session) => {
      const askedMs = store.nowMs()
      record({ ...about(session), what: asks ? 'ending' : 'ended', nowMs: askedMs, askedMs })
      await store.closeSession(session)
      if (asks) record({ ...about(session), what: 'ended', nowMs: store.nowMs(), askedMs })
      ttls.delete(session)
    },
    contention: (address, of) => store.contention(address, of),
    places: (session, limit) => store.places(session, limit),
    sweep: (limit) => store.sweep(limit),
    nextDeadlineMs: () => store.nextDeadlineMs(),
    subscribe: (listener, onGap, onDue) => store.subscribe(listener, onGap, onDue),
    hearAll: () => store.hearAll(),
    policy: () => store.policy(),
    applyPolicy: (policy, expectedVersion) => store.applyPolicy(policy, expectedVersion),
    counts: () => store.counts(),
    waiting: () => store.waiting(),
    ...(store.queues && { queues: () => store.queues!() }),
    close: () => store.close(),
  }
}
