import type { Baton, OpenOptions } from '@baton-lock/client'
import { checkOptions, checkText } from '@baton-lock/client/internal'

/**
 * A client in process on a store: the same interface without a server. A store that is away is opened when it is back,
 * unless `whenUnavailable` is `fail`; one that cannot be used is refused at once.
 */
export async function open(storeUrl: string, options: OpenOptions = {}): Promise<Baton> {
  checkText('open', 'the store', storeUrl)
  checkOptions('open', options)
  // A program that only connects does not pay for what a server is made of.
  const { openInProcess } = await import('./in-process.ts')
  return openInProcess(storeUrl, options)
}
