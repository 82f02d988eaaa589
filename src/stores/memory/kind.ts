import type { StoreKind } from '../kind.ts'
import { systemTiming } from '../timing.ts'
import { openMemoryStore } from './memory-store.ts'

const FORGETS = 'a memory store needs none of it: it lives in its server and is forgotten with it'

export const kind: StoreKind = {
  open: async (_, { clock, policy, onStep, onFound, onSession }) => {
    onFound?.({ at: 'memory:', isNew: true })
    return openMemoryStore({ clock, policy, onStep, onSession, id: systemTiming.uniqueName() })
  },
  check: async () => ({ isSound: true, findings: [FORGETS] }),
  repair: async () => [FORGETS],
  raiseFences: async () => [FORGETS],
  migrate: async () => [FORGETS],
}
