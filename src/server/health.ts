import type { FastifyInstance } from 'fastify'
import type { Service } from '../service/index.ts'

/** /healthz: the process is up. /readyz: the store answers, and the server is not about to stop. Neither asks for a token. */
export function serveHealth(app: FastifyInstance, service: Service, draining: { readonly hasBegun: boolean }): void {
  const probe = { method: ['GET', 'HEAD'] }
  app.route({ ...probe, url: '/healthz', handler: async () => ({ status: 'ok' }) })
  app.route({
    ...probe,
    url: '/readyz',
    handler: async (_request, reply) => {
      if (draining.hasBegun) return reply.code(503).send({ status: 'draining' })
      const ready = await service.isReady()
      return reply.code(ready ? 200 : 503).send({ status: ready ? 'ready' : 'store-unavailable' })
    },
  })
}
