import { createHash } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { openFolder, startServer } from '../../../test/e2e/cli-process.ts'

/** A built server with tokens, and ten thousand resources in it. */

export const ADMIN = 'admin-secret-of-the-browser-test'
export const OBSERVER = 'observe-secret-of-the-browser-test'
export const RESOURCES = 10_000

export async function openStage() {
  const folder = openFolder()
  const entry = (secret: string, role: string, name: string) =>
    `[[tokens]]\nsha256 = "${createHash('sha256').update(secret).digest('hex')}"\nrole = "${role}"\nname = "${name}"\n`
  const tokens = folder.path('tokens.toml')
  writeFileSync(tokens, entry(ADMIN, 'admin', 'on-call') + entry(OBSERVER, 'observe', 'wall'), { mode: 0o600 })
  const start = (port: string) => startServer(['--tokens', tokens, '--port', port])
  const server = await start('0')
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every shape.
  const answer = async (path: string, body?: object): Promise<any> => {
    const headers = { authorization: `Bearer ${ADMIN}` }
    const init = body === undefined ? { headers } : { method: 'POST', body: JSON.stringify(body), headers }
    return (await fetch(server.url + path, init)).json()
  }
  return {
    server,
    post: answer,
    get: answer,
    restart: () => start(new URL(server.url).port),
    remove: () => folder.remove(),
  }
}

export type Stage = Awaited<ReturnType<typeof openStage>>

/** The digest of a layer that nobody has ever made. */
export function layer(number: number): string {
  return `sha256:${createHash('sha256').update(String(number)).digest('hex')}`
}

/** Layers that were pulled and are in use, every eighth of them still being pulled. */
export async function seed({ post }: Stage, count = RESOURCES): Promise<void> {
  const together = 200
  for (let from = 0; from < count; from += together) {
    const numbers = Array.from({ length: Math.min(together, count - from) }, (_, index) => from + index)
    const at = (number: number) => ({
      namespace: number % 5 === 0 ? 'staging' : 'default',
      operation: 'pull',
      resource: layer(number),
      owner: `pull-${number}`,
    })
    const asks = numbers.map((number) => ({
      type: 'acquire',
      ...at(number),
      node: `node-${number % 40}`,
      ttlMs: 3_600_000,
    }))
    const { replies } = await post('/v1/batch', { requests: asks })
    const requests = numbers.map((number, index) => {
      const { fence } = replies[index]
      if (number % 8 === 0) return { type: 'progress', ...at(number), fence, progress: { percent: (number / 8) % 100 } }
      return { type: 'release', ...at(number), fence, outcome: 'success', result: { bytes: number * 4_096 } }
    })
    await post('/v1/batch', { requests })
  }
}
