import type { GrantView, KeptView, ResourceView } from '@baton-lock/core'
import { oneLine } from '@baton-lock/protocol/text/harmless'
import type { Deed } from './actions.ts'
import { cutId } from './cut.ts'

/** Ends one grant: that one and no later one, as its fence goes along. */
export function revokeOf({ namespace, resource }: ResourceView, { operation, fence, node }: GrantView): Deed {
  return {
    request: { type: 'revoke', namespace, resource, operation, fence },
    about: `${oneLine(operation)} of ${oneLine(node)} on ${cutId(resource)} (fence ${fence})`,
  }
}

/** Drops the success that is shown, and no newer one. */
export function forgetOf({ namespace, resource }: ResourceView, { operation, fence }: KeptView): Deed {
  return {
    request: { type: 'forget', namespace, resource, operation, fence },
    about: `${oneLine(operation)} of ${cutId(resource)}`,
  }
}

export function dropNodeOf(node: string, namespace: string | undefined): Deed {
  return {
    request: { type: 'drop-node', node, ...(namespace !== undefined && { namespace }) },
    about: oneLine(node),
  }
}

/** Every grant, and every kept success, of these resources; of one operation where one is chosen. */
export function deedsOf(
  views: readonly ResourceView[],
  { type, operation }: { readonly type: 'revoke' | 'forget'; readonly operation: string },
): Deed[] {
  const isMeant = (each: { readonly operation: string }) => operation === '' || each.operation === operation
  return views.flatMap((view) =>
    type === 'revoke'
      ? view.grants.filter(isMeant).map((grant) => revokeOf(view, grant))
      : view.kept.filter(isMeant).map((kept) => forgetOf(view, kept)),
  )
}
