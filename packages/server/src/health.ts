import type { Service } from '@baton-lock/service'
import type { HttpRoute } from './http/router.ts'

/** /healthz: the process is up. /readyz: the store answers, and the server is not about to stop. Neither needs a token. */
export function healthRoutes(service: Service, draining: { readonly hasBegun: boolean }): HttpRoute[] {
  const method = ['GET', 'HEAD']
  return [
    { method, path: '/healthz', handle: () => ({ status: 200, json: { status: 'ok' } }) },
    {
      method,
      path: '/readyz',
      handle: async () => {
        if (draining.hasBegun) return { status: 503, json: { status: 'draining' } }
        const ready = await service.isReady()
        return { status: ready ? 200 : 503, json: { status: ready ? 'ready' : 'store-unavailable' } }
      },
    },
  ]
}
