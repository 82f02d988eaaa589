import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll } from 'vitest'
import { killRest, startServer, type TestServer } from './cli-process.ts'

/** A folder of the test file's own for file stores, which goes with it, as do their servers. Files may share this module. */
export function fileStores(): { readonly folder: string; newDirectory(): string } {
  const folder = mkdtempSync(join(tmpdir(), 'baton-file-e2e-'))
  let directories = 0
  afterAll(() => {
    killRest()
    rmSync(folder, { recursive: true, force: true })
  })
  return { folder, newDirectory: () => join(folder, `${++directories}`) }
}

export function serve(directory: string, port = '0', flags: readonly string[] = []): Promise<TestServer> {
  return startServer(['--port', port, '--store', `file:${directory}`, ...flags])
}

export async function post(
  url: string,
  path: string,
  body: object,
): Promise<{ status: number; body: Record<string, unknown> }> {
  const response = await fetch(`${url}${path}`, { method: 'POST', body: JSON.stringify(body) })
  return { status: response.status, body: (await response.json()) as Record<string, unknown> }
}
