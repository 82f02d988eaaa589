import { useState } from 'preact/hooks'
import { oneLine } from '../../protocol/harmless.ts'
import { cutId } from '../model/cut.ts'

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
