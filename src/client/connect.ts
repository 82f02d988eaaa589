import type { Baton, ConnectOptions } from './api.ts'
import { Client } from './client.ts'
import { systemClientClock } from './clock.ts'
import { httpTransport } from './http-transport.ts'
import { systemRandom } from './random.ts'

/**
 * A client of one or more servers over the same store, by their URLs (an array, or a text with commas). Contacts
 * nobody yet: what happens without a server is for each call to say.
 */
export async function connect(urls: string | readonly string[], options: ConnectOptions = {}): Promise<Baton> {
  const clock = systemClientClock()
  const notice = options.onNotice ?? (() => {})
  const list = typeof urls === 'string' ? urls.split(',') : urls
  const bases = list.map((url) => url.trim()).filter((url) => url !== '')
  const transport = httpTransport({ urls: bases, token: options.token, tls: options.tls, clock, notice })
  return new Client(transport, { clock, notice, random: systemRandom }, options)
}
