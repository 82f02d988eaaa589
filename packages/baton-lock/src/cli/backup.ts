import { once } from 'node:events'
import { request as httpRequest, type IncomingMessage } from 'node:http'
import { request as httpsRequest } from 'node:https'
import { RefusedError, UnavailableError } from '@baton-lock/client'
import { backupRoute } from '@baton-lock/protocol'
import { type ConnectionFlags, firstServer, withTokenAdvice } from './connection.ts'
import type { CliContext } from './context.ts'

/** A server that sends nothing for so long has gone. It may take its time to write a large store. */
const SILENCE_MS = 300_000

/** Has a server write a backup, and saves it. */
export async function backupOfServer(flags: ConnectionFlags, context: CliContext, to: string): Promise<string> {
  const { url, token, tls } = await firstServer(flags, context)
  const request = (url.startsWith('https:') ? httpsRequest : httpRequest)(new URL(backupRoute.path, url), {
    agent: false,
    headers: token === undefined ? {} : { authorization: `Bearer ${token}` },
    ...tls,
  })
  request.setTimeout(SILENCE_MS, () => request.destroy(new Error('it sends nothing')))
  request.end()
  const answered = once(request, 'response') as Promise<[IncomingMessage]>
  const [response] = await answered.catch((cause: Error) => {
    throw new UnavailableError(`${url} does not answer (${cause.message})`, { cause })
  })
  try {
    if (response.statusCode !== 200) throw withTokenAdvice(await refusalIn(response, url), flags, context)
    return await context.storeMaintenance.saveBackup(response, { to })
  } finally {
    request.destroy()
  }
}

async function refusalIn(response: IncomingMessage, url: string): Promise<Error> {
  let text = ''
  for await (const chunk of response.setEncoding('utf8')) text += chunk
  try {
    const { code, message } = JSON.parse(text)
    return new RefusedError(code, message)
  } catch {
    return new UnavailableError(`${url} is no server of Baton: it answers ${response.statusCode}`)
  }
}
