import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Asker, Guard } from './guard.ts'
import type { RequestLog } from './request-log.ts'
import { type Access, accessTo } from './roles.ts'
import type { WrongTokens } from './wrong-tokens.ts'

/** Every route asks for the role that the table has for it. To be called before any route is added. */
export function guardRoutes(
  app: FastifyInstance,
  {
    guard,
    wrongTokens,
    requestLog,
  }: { readonly guard: Guard; readonly wrongTokens: WrongTokens; readonly requestLog: RequestLog },
): void {
  const identified = async ({ method, raw }: FastifyRequest): Promise<Asker> => {
    try {
      return guard.identify(raw, method === 'GET' ? 'get' : 'call')
    } catch (error) {
      await wrongTokens.slow(error, raw.socket, () => requestLog.of(raw))
      throw error
    }
  }
  app.decorateRequest('asker')
  app.addHook('onRoute', (route) => {
    route.config = { ...route.config, access: accessTo(route) }
  })
  app.addHook('onRequest', async (request) => {
    const { access } = request.routeOptions.config
    if (request.is404 || (access && !access.roles))
      return guard.admit(request.raw, { mayNavigate: access?.isPage && request.method === 'GET' })
    request.asker = await identified(request)
    // Where it is written down that somebody has tried, that comes with what it has named.
    if (!access!.audited) guard.enter(request.asker, access!)
  })
}

declare module 'fastify' {
  interface FastifyRequest {
    /** Who asks; known where a route asks for a token. */
    asker: Asker
  }
  interface FastifyContextConfig {
    /** Its row in server/roles.ts. */
    access?: Access
  }
}
