import type { Policy } from '@baton-lock/core'
import { Service } from '@baton-lock/service'
import { type LibraryOptions, openLibraryStore } from './library.ts'

/** How the harness looks at what is there, from outside or beside the clients. */
export interface Watch {
  policy(): Promise<Policy>
  /** Resources that are held or waited for. */
  active(): Promise<readonly { readonly resource: string }[]>
  /** Makes something happen to a resource that observers are told of. */
  reference(resource: string, node: string): Promise<void>
  close(): Promise<void>
}

/** Through a server, wherever it listens now. */
export function serverWatch(server: { readonly url: string }): Watch {
  const ask = async (path: string, init?: RequestInit) => {
    const reply = await fetch(server.url + path, init)
    if (!reply.ok) throw new Error(`${path} was answered ${reply.status} ${await reply.text()}`)
    return reply.json()
  }
  return {
    policy: async () => ((await ask('/v1/policy')) as { policy: Policy }).policy,
    active: async () => ((await ask('/v1/resources?active=true')) as { resources: { resource: string }[] }).resources,
    reference: async (resource, node) => {
      const headers = { 'content-type': 'application/json' }
      await ask('/v1/references/add', { method: 'POST', headers, body: JSON.stringify({ resource, node }) })
    },
    close: async () => {},
  }
}

/** On the store itself, as one more process that has it open: somebody has to end the leases of the dead. */
export async function storeWatch(options: LibraryOptions): Promise<Watch> {
  const store = (await openLibraryStore(options))!
  const service = new Service({ store })
  return {
    policy: async () => (await store.policy()).policy,
    active: async () => (await store.list({ active: true, limit: 1_000 })).resources,
    reference: async (resource, node) => {
      await service.call({ type: 'add-reference', namespace: 'default', resource, node })
    },
    close: () => service.close(),
  }
}
