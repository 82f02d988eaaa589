import type { SessionReply, Store } from '../stores/store.ts'
import type { SessionRecord } from './history.ts'

/** The same store, with a record of every session's life. */
export function recordSessions(store: Store, record: (entry: SessionRecord) => void): Store {
  const ttls = new Map<string, number>()
  const note = (session: string, what: 'opened' | 'renewed', reply: SessionReply, askedMs: number) => {
    const isAlive = reply.status === 'alive'
    const ttlMs = isAlive ? reply.ttlMs : (ttls.get(session) ?? 0)
    if (isAlive) ttls.set(session, ttlMs)
    else ttls.delete(session)
    record({ kind: 'session', nowMs: store.nowMs(), askedMs, session, what: isAlive ? what : 'refused', ttlMs })
  }
  return {
    nowMs: () => store.nowMs(),
    step: (address, command) => store.step(address, command),
    read: (address) => store.read(address),
    standing: (place) => store.standing(place),
    list: (query) => store.list(query),
    openSession: async (request) => {
      const askedMs = store.nowMs()
      const reply = await store.openSession(request)
      note(request.session, 'opened', reply, askedMs)
      return reply
    },
    renewSession: async (session) => {
      const askedMs = store.nowMs()
      const reply = await store.renewSession(session)
      note(session, 'renewed', reply, askedMs)
      return reply
    },
    closeSession: async (session) => {
      const nowMs = store.nowMs()
      record({ kind: 'session', nowMs, askedMs: nowMs, session, what: 'ended', ttlMs: ttls.get(session) ?? 0 })
      ttls.delete(session)
      await store.closeSession(session)
    },
    places: (session) => store.places(session),
    sweep: (limit) => store.sweep(limit),
    nextDeadlineMs: () => store.nextDeadlineMs(),
    subscribe: (listener, onGap) => store.subscribe(listener, onGap),
    hearAll: () => store.hearAll(),
    policy: () => store.policy(),
    applyPolicy: (policy, expectedVersion) => store.applyPolicy(policy, expectedVersion),
    counts: () => store.counts(),
    waiting: () => store.waiting(),
    close: () => store.close(),
  }
}
