import { startServer, type TestServer } from './cli-process.ts'

/** A server that may be started again where one of the same has been. */
export function startOn({
  store,
  port = '0',
}: {
  readonly store: string
  readonly port?: string
}): Promise<TestServer> {
  return startServer(['--store', store, '--port', port, '--log-level', 'debug'])
}
