import type { ErrorBody } from '@baton-lock/protocol'
import { type Access, accessTo } from '../auth/roles.ts'
import { Refusal } from '../refusal.ts'
import type { Answer, Exchange } from './exchange.ts'

/** A path that is served, for one method or several. */
export interface HttpRoute {
  readonly method: string | readonly string[]
  /** Its last segment may be `:name`, which stands for any. */
  readonly path: string
  /** Throws, or rejects with, what the request is refused for. `undefined`: it writes to the response itself. */
  handle(exchange: Exchange): Answer | undefined | Promise<Answer | undefined>
  /** The body of a refusal on paths that have a format of their own. */
  refused?(error: ErrorBody): object
}

/** A route with its row in auth/roles.ts. */
export interface GuardedRoute extends HttpRoute {
  readonly access: Access
}

/** Anybody may learn that there is nothing at a path. */
const NOTHING: Access = {}

const notFound: GuardedRoute = {
  method: [],
  path: '',
  access: NOTHING,
  handle() {
    throw new Refusal('not-found')
  },
}

/** The routes of a server, by path and method. */
export class Router {
  readonly #paths = new Map<string, Map<string, GuardedRoute>>()

  /** Throws if auth/roles.ts has no row for it: nothing is served that nobody has thought about. */
  add(route: HttpRoute): void {
    const guarded = { ...route, handle: route.handle, access: accessTo(route) }
    const methods = this.#paths.get(route.path) ?? new Map<string, GuardedRoute>()
    this.#paths.set(route.path, methods)
    for (const method of [route.method].flat()) methods.set(method, guarded)
  }

  /** Every route as `METHOD path`. */
  get names(): string[] {
    return [...this.#paths].flatMap(([path, methods]) => [...methods.keys()].map((method) => `${method} ${path}`))
  }

  /** A path or a method that is not there has a route too: one that refuses. */
  find(method: string, path: string): GuardedRoute {
    const methods = this.#paths.get(path) ?? this.#paths.get(`${path.slice(0, path.lastIndexOf('/'))}/:name`)
    if (!methods) return notFound
    return methods.get(method) ?? methodNotAllowed([...methods.keys()])
  }
}

function methodNotAllowed(methods: readonly string[]): GuardedRoute {
  return {
    ...notFound,
    handle() {
      throw new Refusal('method-not-allowed', undefined, { allow: methods.join(', ') })
    },
  }
}
