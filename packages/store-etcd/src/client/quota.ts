import { get } from 'node:http'
import { get as getByTls } from 'node:https'
import type { EtcdTarget } from '../etcd-url.ts'
import { placeOf, tlsOptionsOf } from './security.ts'

const METRICS_BYTES = 4 * 1024 * 1024

/**
 * How large the database of this member may become (`--quota-backend-bytes`). Before 3.6 its status does not say so, only its metrics do, which
 * it serves beside its API. Nothing where they cannot be read: a proxy may let only the API through.
 */
export async function quotaOf(endpoint: string, target: EtcdTarget, limitMs: number): Promise<number | undefined> {
  const text = await metricsOf(endpoint, target, limitMs).catch(() => '')
  const [, value] = /^etcd_server_quota_backend_bytes (\S+)$/m.exec(text) ?? []
  const bytes = Number(value)
  return bytes > 0 ? bytes : undefined
}

function metricsOf(endpoint: string, target: EtcdTarget, limitMs: number): Promise<string> {
  const place = { ...placeOf(endpoint), path: '/metrics', agent: false, signal: AbortSignal.timeout(limitMs) }
  return new Promise((resolve, reject) => {
    const request = target.tls ? getByTls({ ...place, ...tlsOptionsOf(endpoint, target) }) : get(place)
    request.on('error', reject)
    request.on('response', (response) => {
      let text = ''
      response.setEncoding('utf8')
      response.on('error', reject)
      response.on('data', (chunk: string) => {
        text += chunk
        if (text.length > METRICS_BYTES) request.destroy(new Error('too long for metrics'))
      })
      response.on('end', () => resolve(text))
    })
  })
}
