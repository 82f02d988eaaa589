import { type Clock, type Store, StoreUnavailable } from '@baton-lock/store/store'

/** A store that can be used before it is open: calls wait, but for steps, which fail. */
export function lateStore(
  opening: Promise<Store>,
  { id, clock, onClose }: { readonly id: string; readonly clock: Clock; readonly onClose: () => void },
): Store {
  let opened: Store | undefined
  void opening.then((store) => {
    opened = store
  })
  const ready = () => {
    if (!opened) throw new StoreUnavailable('the store is not open yet')
    return opened
  }
  return {
    id,
    nowMs: () => opened?.nowMs() ?? clock.nowMs(),
    step: (address, command, facts) => ready().step(address, command, facts),
    durable: () => ready().durable(),
    acknowledge: (ask) => opened?.acknowledge?.(ask),
    read: async (address, waiterLimit) => (await opening).read(address, waiterLimit),
    waiters: async (address, page) => (await opening).waiters(address, page),
    standing: async (ask) => (await opening).standing(ask),
    lateSkip: async (address, operation) => (await opening).lateSkip(address, operation),
    list: async (query, pace) => (await opening).list(query, pace),
    openSession: async (request) => (await opening).openSession(request),
    renewSession: async (session) => (await opening).renewSession(session),
    closeSession: async (session) => (await opening).closeSession(session),
    contention: async (address, of) => (await opening).contention(address, of),
    places: async (session, limit) => (await opening).places(session, limit),
    sweep: async (limit) => (await opening).sweep(limit),
    nextDeadlineMs: () => (opened ? opened.nextDeadlineMs() : clock.nowMs()),
    subscribe(listener) {
      let stop: (() => void) | undefined
      let isStopped = false
      void opening.then((store) => {
        if (!isStopped) stop = store.subscribe(listener)
      })
      return () => {
        isStopped = true
        stop?.()
      }
    },
    policy: async () => (await opening).policy(),
    applyPolicy: async (policy, expectedVersion) => (await opening).applyPolicy(policy, expectedVersion),
    hearAll: async () => (await opening).hearAll(),
    counts: async () => (await opening).counts(),
    waiting: () => opened?.waiting() ?? 0,
    close: async () => onClose(),
  }
}
