import type { Baton, ConnectOptions } from './api.ts'
import { checkOptions } from './check-options.ts'
import { Client } from './client.ts'
import { systemClientClock } from './clock.ts'
import { ArgumentError } from './errors.ts'
import { httpTransport } from './http-transport.ts'
import { systemRandom } from './random.ts'
import { warn } from './warn.ts'

/**
 * A client of one or more servers over the same store, by their URLs (an array, or a text with commas). Contacts
 * nobody yet: what happens without a server is for each call to say.
 */
export async function connect(urls: string | readonly string[], options: ConnectOptions = {}): Promise<Baton> {
  const list = typeof urls === 'string' ? urls.split(',') : urls
  if (!Array.isArray(list) || !list.every((url) => typeof url === 'string')) {
    throw new ArgumentError('connect: the servers must be a URL like http://127.0.0.1:8086, or several of them')
  }
  checkOptions('connect', options)
  const clock = systemClientClock()
  const notice = options.onNotice ?? warn
  const bases = list.map((url: string) => url.trim()).filter((url: string) => url !== '')
  const transport = httpTransport({ urls: bases, token: options.token, tls: options.tls, clock, notice })
  return new Client(transport, { clock, notice, random: systemRandom }, options)
}
