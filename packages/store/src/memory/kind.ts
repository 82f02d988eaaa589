import type { StoreKind } from '../kind.ts'
import { systemTiming } from '../timing.ts'
import { openMemoryStore } from './memory-store.ts'

const FORGETS = 'a memory store needs none of it: it lives in its server and is forgotten with it'

async function nothingToCopy(): Promise<never> {
  throw new TypeError('a memory store is forgotten with its server: there is nothing to back up or to restore')
}

export const kind: StoreKind = {
  open: async (_, { clock, policy, onStep, onFound, onSession }) => {
    onFound?.({ at: 'memory:', isNew: true })
    return openMemoryStore({ clock, policy, onStep, onSession, id: systemTiming.uniqueName() })
  },
  check: async () => ({ isSound: true, findings: [FORGETS] }),
  raiseFences: async () => [FORGETS],
  backup: nothingToCopy,
  restore: nothingToCopy,
  create: async () => [FORGETS],
}
