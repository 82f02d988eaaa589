import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll } from 'vitest'
import { killRest, type Running, start, until } from './cli-process.ts'

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

export interface FileServer {
  readonly url: string
  readonly process: Running
  kill(): Promise<void>
}

export async function serve(directory: string, port = '0', flags: readonly string[] = []): Promise<FileServer> {
  const process = start(['serve', '--port', port, '--store', `file:${directory}`, ...flags])
  const url = await until('the server listens', () => /^baton listening on (\S+)\n/.exec(process.stdout())?.[1])
  return {
    url,
    process,
    async kill() {
      process.kill('SIGKILL')
      await process.ended
    },
  }
}

export async function post(
  url: string,
  path: string,
  body: object,
): Promise<{ status: number; body: Record<string, unknown> }> {
  const response = await fetch(`${url}${path}`, { method: 'POST', body: JSON.stringify(body) })
  return { status: response.status, body: (await response.json()) as Record<string, unknown> }
}
