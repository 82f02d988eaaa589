import { oneLine } from '@baton-lock/protocol/text/harmless'
import { useState } from 'preact/hooks'
import { cutId } from '../model/cut.ts'
import { NO_FILTER } from '../model/list/filter.ts'
import { BY_URGENCY } from '../model/list/order.ts'
import { hashOf } from '../model/route.ts'

/** What stands at the end of an id tells it from others as well as its beginning. */
const TAIL = 8

/** An id that somebody chose: as text, harmless, cut in the middle where there is no room, with the whole in its title. */
export function Id({ id, chars = 64 }: { id: string; chars?: number }) {
  const text = cutId(id, chars)
  return (
    <span class="id" title={oneLine(id)} dir="ltr">
      {text.length <= 2 * TAIL ? (
        text
      ) : (
        <>
          <span class="id-head">{text.slice(0, -TAIL)}</span>
          <span class="id-tail">{text.slice(-TAIL)}</span>
        </>
      )}
    </span>
  )
}

/** A node, and the way to all that it holds, waits for, uses or has done. */
export function NodeLink({ node, chars = 40 }: { node: string; chars?: number }) {
  const hash = hashOf({ page: 'list', filter: { ...NO_FILTER, node }, order: BY_URGENCY })
  return (
    <a href={hash} title={`All of ${oneLine(node)}`}>
      {cutId(node, chars)}
    </a>
  )
}

/** Copies a text as it is, and says so. */
export function Copy({ text, label }: { text: string; label: string }) {
  const [state, setState] = useState<'ready' | 'copied' | 'failed'>('ready')
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text)
      setState('copied')
    } catch {
      setState('failed')
    }
  }
  const said = { ready: label, copied: 'Copied', failed: 'Not allowed' }[state]
  return (
    <button type="button" class="copy" onClick={copy} onBlur={() => setState('ready')}>
      {said}
    </button>
  )
}
