import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import type { Facts } from '@baton-lock/core'
import type { NamedToken, Request, Who } from '@baton-lock/protocol'
import type { Scope } from '@baton-lock/service'
import { isFromBrowser, PageRules } from './origin-policy.ts'
import type { Access } from './roles.ts'

/** What a request shows of whom it is from: its headers, and the certificate of its connection. */
export type Shown = Pick<IncomingMessage, 'headers' | 'socket'>

/** A GET may be a browser's own idea, and an upgrade shows its token where a page can put it. */
export type How = 'call' | 'get' | 'upgrade'

/** Who asks, as far as the guard knows. */
export interface Asker {
  /** That was shown, or that a certificate stands for; nothing where none is asked for. */
  readonly token?: NamedToken
  /** What a browser GETs changes nothing, as any page can have it do that: it acts for nobody. */
  readonly onlyLooks: boolean
  /** Where it came from. */
  readonly socket: Socket
}

/**
 * Says what the token of whoever asks allows: its role, its namespace, and whether it is still good. Whom it may act for is
 * passed on with the request, and the step decides. Every check throws where the answer is no.
 */
export interface Guard {
  /** Whether anything is answered at all, on whatever path: not to the web pages of others, but perhaps to who follows their links. */
  admit(shown: Shown, options?: { readonly mayNavigate?: boolean | undefined }): void
  /** Whom a request is of; admits it too. */
  identify(shown: Shown, how: How): Asker
  /** Why a token is not good any more, as a sentence; nothing while it is. */
  whyOver(token: NamedToken): string | undefined
  /** Whether the role of an asker may use a route. */
  enter(asker: Asker, access: Access): void
  /** What an asker is told of itself. */
  who(asker: Asker): Who
  /** The facts of whoever asks, to be passed on with what it asks. */
  check(asker: Asker, asked: Request): Facts
  checkScope(asker: Asker, wanted: { scope: Scope; namespace?: string | undefined }): Facts
  /** On the classic paths: the namespace is the same for all. */
  checkClassic(asker: Asker, wanted: { namespace: string; node?: string | undefined }): Facts
}

const EVERYTHING: Facts = {}
const NOBODY: Facts = { actsFor: [] }

/**
 * Without tokens everybody may do everything. The command line allows that on loopback only, or when told to. `allowedHosts`: by which
 * such a server may be called beside IP addresses and `localhost`.
 */
export function openGuard(allowedHosts: readonly string[] = []): Guard {
  const pages = new PageRules(allowedHosts)
  const factsOf = ({ onlyLooks }: Asker) => (onlyLooks ? NOBODY : EVERYTHING)
  return {
    admit: ({ headers }, options) => pages.check(headers, options),
    identify({ headers, socket }, how) {
      pages.check(headers)
      return { onlyLooks: how === 'get' && isFromBrowser(headers), socket }
    },
    whyOver: () => undefined,
    enter: () => {},
    who: () => ({ status: 'who', role: 'anybody' }),
    check: factsOf,
    checkScope: factsOf,
    checkClassic: factsOf,
  }
}
