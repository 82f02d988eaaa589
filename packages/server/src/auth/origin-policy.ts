import type { IncomingHttpHeaders } from 'node:http'
import { isIP } from 'node:net'
import { Refusal } from '../refusal.ts'

/**
 * Any web page that somebody has open can make the browser send requests here, and a server on loopback trusts whoever
 * reaches it. The browser says whose page it was; only those of this server itself are let in.
 */
export class PageRules {
  /** Nothing: by any name. */
  readonly #names: ReadonlySet<string> | undefined
  /** Most requests come by the same name as the one before. */
  #lastHost: string | undefined

  /**
   * `names`: by which the server may be called beside IP addresses and `localhost`. A page whose own name was made to point
   * here (DNS rebinding) is a page of this server to its browser: only that name gives it away. Such a page has no token, so
   * where tokens are asked for it does not matter, and there are no `names`.
   */
  constructor(names?: readonly string[]) {
    this.#names = names && new Set(['localhost', ...names.map(plainName)])
  }

  /** Throws where the request may not be answered. `mayNavigate`: who follows a link of another site comes to a page here. */
  check(headers: IncomingHttpHeaders, { mayNavigate = false } = {}): void {
    const { host, origin } = headers
    if (host !== this.#lastHost) this.#checkHost(host)
    const site = headers['sec-fetch-site']
    if (origin === undefined && (site === undefined || (mayNavigate && isNavigation(headers)))) return
    const isOwn = origin === undefined || origin === `http://${host}` || origin === `https://${host}`
    if (!isOwn || !(site === undefined || site === 'same-origin' || site === 'none')) throw new Refusal('foreign-page')
  }

  #checkHost(host: string | undefined): void {
    // Without any it is HTTP/1.0, which no browser speaks.
    if (this.#names && host !== undefined && !this.#isKnown(host)) throw new Refusal('unknown-host')
    this.#lastHost = host
  }

  #isKnown(host: string): boolean {
    const [, address, name = ''] = /^(?:\[([^\]]*)\]|([^:]*))(?::\d*)?$/.exec(host) ?? []
    return isIP(address ?? name) !== 0 || this.#names!.has(plainName(name))
  }
}

/**
 * Whether a page, or somebody at the address bar, had a browser send this. The fetch of Node says `Sec-Fetch-Mode: cors` too,
 * and nothing else of these; a browser never says it alone.
 */
export function isFromBrowser(headers: IncomingHttpHeaders): boolean {
  const mode = headers['sec-fetch-mode']
  return BROWSER_HEADERS.some((name) => headers[name] !== undefined) || (mode !== undefined && mode !== 'cors')
}

/** The whole window goes there: whoever has sent it does not see what comes. Not so a frame, or what a script fetches. */
function isNavigation(headers: IncomingHttpHeaders): boolean {
  return headers['sec-fetch-mode'] === 'navigate' && headers['sec-fetch-dest'] === 'document'
}

const BROWSER_HEADERS = ['origin', 'referer', 'sec-fetch-site', 'sec-fetch-dest', 'sec-fetch-user'] as const

function plainName(name: string): string {
  return name.toLowerCase().replace(/\.$/, '')
}
