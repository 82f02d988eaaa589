import type { IncomingMessage } from 'node:http'
import { Refusal } from '../refusal.ts'

/**
 * Reads the body of a request. `done` is called once, with its bytes (`undefined` if the request has no body) or with the refusal
 * of a body that is too large; never if the client leaves before its body is complete.
 */
export function readBody(
  request: IncomingMessage,
  maxBytes: number,
  done: (body: Buffer | undefined, refusal?: Refusal) => void,
): void {
  const { 'content-length': length, 'transfer-encoding': encoding } = request.headers
  if (length === undefined && encoding === undefined) {
    done(undefined)
    return
  }
  if (Number(length) > maxBytes) {
    done(undefined, new Refusal('too-large'))
    return
  }
  let body: Buffer | undefined
  const add = (chunk: Buffer) => {
    if ((body?.length ?? 0) + chunk.length > maxBytes) {
      request.off('data', add).off('end', end)
      done(undefined, new Refusal('too-large'))
    } else body = body ? Buffer.concat([body, chunk]) : chunk
  }
  const end = () => done(body)
  request.on('data', add).on('end', end)
}
