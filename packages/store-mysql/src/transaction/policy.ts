import type { WrittenPolicy } from '@baton-lock/store/remote'
import type { Connections } from '../connection/connections.ts'
import { Packet, type Run } from '../connection/packet.ts'

/** Nothing where there is none yet. */
export async function readPolicy(run: Pick<Connections, 'query'> | Run): Promise<WrittenPolicy | undefined> {
  const packet = new Packet().add('SELECT policy_version, policy FROM baton_store WHERE id = 1')
  const [[row]] = await ('query' in run ? run.query(packet) : run(packet))
  return row?.policy ? { version: row.policy_version, text: row.policy } : undefined
}

export async function writePolicy(connections: Connections, text: string, expectedVersion: number): Promise<boolean> {
  const change = `UPDATE baton_store SET policy_version = policy_version + 1, policy = ?
    WHERE id = 1 AND policy_version = ?`
  const [{ affectedRows }] = await connections.query(new Packet().add(change, text, expectedVersion))
  return affectedRows > 0
}
