import type { ServerResponse } from 'node:http'
import type { ReadBudget, Service } from '../service/index.ts'

/** What the reads of requests over HTTP may cost: each request, a batch too, has a budget of its own. */
export class Reading {
  readonly #service: Service
  readonly #bytes: number

  constructor(service: Service, bytes: number) {
    this.#service = service
    this.#bytes = bytes
  }

  budgetFor({ req: { socket } }: ServerResponse): ReadBudget {
    return this.#service.budget({ bytes: this.#bytes, isGone: () => socket.destroyed })
  }
}
