import type { SessionReply, Store } from '../../stores/store.ts'
import type { HistoryRecord } from '../history.ts'

/** The same store, with a record of every session's life. */
export function recordSessions(store: Store, record: (entry: HistoryRecord) => void): Store {
  const ttls = new Map<string, number>()
  const note = (session: string, what: 'opened' | 'renewed' | 'ended', reply?: SessionReply) => {
    const ttlMs = reply?.status === 'alive' ? reply.ttlMs : (ttls.get(session) ?? 0)
    if (reply?.status === 'alive') ttls.set(session, ttlMs)
    record({
      kind: 'session',
      nowMs: store.nowMs(),
      session,
      what: reply?.status === 'refused' ? 'refused' : what,
      ttlMs,
    })
  }
  return {
    nowMs: () => store.nowMs(),
    step: (address, command) => store.step(address, command),
    read: (address) => store.read(address),
    standing: (place) => store.standing(place),
    list: (query) => store.list(query),
    openSession: async (request) => {
      const reply = await store.openSession(request)
      note(request.session, 'opened', reply)
      return reply
    },
    renewSession: async (session) => {
      const reply = await store.renewSession(session)
      note(session, 'renewed', reply)
      return reply
    },
    closeSession: async (session) => {
      note(session, 'ended')
      await store.closeSession(session)
    },
    places: (session) => store.places(session),
    sweep: (limit) => store.sweep(limit),
    nextDeadlineMs: () => store.nextDeadlineMs(),
    subscribe: (listener) => store.subscribe(listener),
    policy: () => store.policy(),
    applyPolicy: (policy, expectedVersion) => store.applyPolicy(policy, expectedVersion),
    counts: () => store.counts(),
    close: () => store.close(),
  }
}
