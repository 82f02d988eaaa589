import type { ResourceView } from '@baton-lock/core'
import type { ReplyOf } from '@baton-lock/protocol'
import type { InputOf } from '../connection/transport.ts'
import { allResources } from './pages.ts'
import type { Sender } from './sender.ts'

/*
 * A request that got no reply in time is repeated, perhaps to another server, and the first copy may be carried out at any
 * time later: its server may have been stopped. So every request here names what its sender has seen. A copy that comes
 * after something newer changes nothing.
 */

interface At {
  readonly namespace: string
  readonly resource: string
}

/**
 * Adds or releases the reference of a node. Returns how many nodes use the resource then. The first request only finds out what there is.
 * What comes after that is another use: a release leaves it, an addition is made beside it.
 */
export async function changeReference(
  sender: Sender,
  type: 'add-reference' | 'release-reference',
  at: At & { readonly node: string },
): Promise<number> {
  for (let seen = 0, tries = 0; ; tries++) {
    const reply: Exclude<ReplyOf<typeof type>, { status: 'refused' }> = await sender.query<typeof type>({
      type,
      ...at,
      seen,
    } as InputOf<typeof type>)
    if (reply.status === 'references') return reply.count
    if (type === 'release-reference' && tries > 0) return (await look(sender, at)).references.length
    seen = reply.seen
  }
}

/** Drops the success that is kept of an operation at this moment. Returns whether there was one. */
export async function forget(sender: Sender, key: At & { readonly operation: string }): Promise<boolean> {
  const { kept } = await look(sender, key)
  const fence = kept.find(({ operation }) => operation === key.operation)?.fence ?? 0
  await sender.query<'forget'>({ type: 'forget', ...key, fence })
  return fence > 0
}

/** Ends the grant with this fence, or the one that is live at this moment. `by`: who revokes. */
export async function revoke(
  sender: Sender,
  key: At & { readonly operation: string; readonly by?: string },
  named?: number,
): Promise<{ readonly node: string; readonly fence: number }> {
  const fence = named ?? (await liveFence(sender, key))
  const reply = await sender.query<'revoke'>({ type: 'revoke', ...key, fence })
  return { node: reply.node, fence: reply.fence }
}

/** Drops the references of a node that is gone, and the kept successes that it performed. Returns of how many resources. */
export async function dropNode(sender: Sender, node: string, namespace: string | undefined): Promise<number> {
  let resources = 0
  let some: Promise<unknown>[] = []
  for await (const view of allResources(sender, { namespace, node, waiters: 0 })) {
    const kept = view.kept.filter((success) => success.node === node)
    if (kept.length === 0 && !view.references.includes(node)) continue
    resources++
    some.push(dropFrom(sender, view, { node, kept }))
    if (some.length < AT_ONCE) continue
    await Promise.all(some)
    some = []
  }
  await Promise.all(some)
  return resources
}

/** As many resources as there are on a page: their requests share a frame. */
const AT_ONCE = 100

async function dropFrom(
  sender: Sender,
  { namespace, resource, references }: ResourceView,
  { node, kept }: { readonly node: string; readonly kept: ResourceView['kept'] },
): Promise<void> {
  const at = { namespace, resource }
  for (const { operation, fence } of kept) await sender.query<'forget'>({ type: 'forget', ...at, operation, fence })
  if (references.includes(node)) await changeReference(sender, 'release-reference', { ...at, node })
}

/** 0 where nobody holds: the request is refused then, unless somebody has got it meanwhile, who is not meant. */
async function liveFence(sender: Sender, key: At & { readonly operation: string }): Promise<number> {
  const { grants } = await look(sender, key)
  return grants.find(({ operation }) => operation === key.operation)?.fence ?? 0
}

async function look(sender: Sender, { namespace, resource }: At): Promise<ResourceView> {
  const { resource: view } = await sender.query<'get-resource'>({
    type: 'get-resource',
    namespace,
    resource,
    waiters: 0,
  })
  return view
}
