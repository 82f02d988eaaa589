import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { FencedResource } from '@baton-lock/testing/fenced-resource'

/** What the clients' work writes to, with its fence: an HTTP server over a `FencedResource`. */
export class Storage {
  readonly #resource: FencedResource
  readonly #server: Server
  writes = 0
  refused = 0

  constructor({ check }: { readonly check: boolean }) {
    this.#resource = new FencedResource({ check })
    this.#server = createServer(async (request, response) => {
      let body = ''
      for await (const chunk of request) body += chunk
      const { key, fence } = JSON.parse(body)
      const accepted = this.#resource.write(key, fence)
      this.writes++
      if (!accepted) this.refused++
      response.end(JSON.stringify({ accepted }))
    })
  }

  get violations(): FencedResource['violations'] {
    return this.#resource.violations
  }

  /** Resolves with its URL. */
  async listen(): Promise<string> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve))
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  close(): void {
    this.#server.close()
    this.#server.closeAllConnections()
  }
}
